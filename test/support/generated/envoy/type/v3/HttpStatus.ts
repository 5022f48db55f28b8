// Original file: proto/envoy/type/v3/http_status.proto


export interface HttpStatus {
  'code'?: (number);
}

export interface HttpStatus__Output {
  'code'?: (number);
}

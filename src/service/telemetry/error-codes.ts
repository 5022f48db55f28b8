import type { ExchangeSummary } from '../../filter/index.ts';
import type { CallEnd } from './observer.ts';

const own = `
  client_closed_request context_length_exceeded empty_summary insufficient_quota invalid_api_key invalid_encoding
  invalid_json invalid_request invalid_tool_call invalid_upstream_response method_not_allowed model_error
  model_not_found not_found not_implemented permission_denied proxy_misconfigured rate_limit_exceeded reasoning_alone
  request_timeout request_too_large server_error server_overloaded tool_not_allowed unknown_tool
  unsupported_content_encoding unsupported_media_type upstream_error upstream_event_too_large upstream_redirect
  upstream_response_too_large upstream_stream_truncated upstream_timeout upstream_unavailable websocket_not_supported`;

/** Codes that Chat Completions servers and the Responses API are documented to send. */
const published = `
  account_deactivated array_above_max_length billing_hard_limit_reached billing_not_active content_filter
  content_policy_violation deploymentnotfound engine_overloaded failed_to_download_image image_content_policy_violation
  image_parse_error image_too_large image_too_small internal_error internal_server_error invalid_function_parameters
  invalid_image invalid_image_format invalid_image_url invalid_prompt invalid_request_error invalid_schema invalid_type
  invalid_value json_validate_failed missing_required_parameter no_capacity overloaded_error quota_exceeded
  rate_limit_error rate_limit_reached resource_exhausted responsibleaipolicyviolation service_unavailable
  string_above_max_length token_limit_exceeded tokens_limit_reached too_many_requests tool_use_failed unauthorized
  unavailable unknown_parameter unsupported_country_region_territory unsupported_file unsupported_model
  unsupported_parameter unsupported_value vector_store_timeout`;

const known = new Set(`${own} ${published}`.trim().split(/\s+/));

/** Returns the error code for log and traces. An upstream's `error.code` is content of a body: unless it is known, `other` is shown. */
export function shownErrorCode({ errorCode, outcome }: Pick<ExchangeSummary, 'errorCode' | 'outcome'>): string | null {
  if (errorCode === null || outcome === 'refused') return errorCode;
  return known.has(errorCode.toLowerCase()) || /^http_\d{3}$/.test(errorCode) ? errorCode : 'other';
}

/** Returns OpenTelemetry’s `error.type` of an exchange, for traces and metrics; null if the exchange went well. */
export function findErrorType(summary: ExchangeSummary, how: CallEnd): string | null {
  const { outcome, status } = summary;
  if (how !== 'done') return how;
  if (outcome === 'completed' || outcome === 'incomplete') return null;
  return shownErrorCode(summary) ?? (status === null ? outcome : String(status));
}

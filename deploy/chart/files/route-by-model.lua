-- Says which model a request is for in the header x-gateway-model-name, by which routes choose its upstream: the string `model` at the
-- top level of its JSON, the last one, as readers of JSON take it; none in a tool or in a text. What a client sends in that header
-- never counts. Envoy chooses the route again when headers have changed.

local function closing_quote(json, at)
  while true do
    local stop = json:find('["\\]', at)
    if stop == nil or json:byte(stop) == 34 then return stop end
    at = stop + 2 -- what a backslash escapes
  end
end

local function model_of(json)
  local depth, at, model = 0, 1, nil
  for _ = 1, 1000000 do -- bodies of nothing but brackets must not hold up a thread of Envoy's
    local start, _, mark = json:find('([%[%]{}"])', at)
    if start == nil then return model end
    at = start + 1
    if mark == '{' or mark == '[' then
      depth = depth + 1
    elseif mark == '}' or mark == ']' then
      depth = depth - 1
    else
      local stop = closing_quote(json, at)
      if stop == nil then return nil end
      local value = depth == 1 and json:match('^%s*:%s*()', stop + 1)
      if value and json:sub(at, stop - 1) == 'model' then
        local last = json:byte(value) == 34 and closing_quote(json, value + 1)
        model = last and json:sub(value + 1, last - 1):gsub('\\/', '/')
        stop = last or stop
      end
      at = stop + 1
    end
  end
end

function envoy_on_request(handle)
  handle:headers():remove('x-gateway-model-name')
  if handle:headers():get(':method') ~= 'POST' then return end -- an upgrade's body never ends
  local body = handle:body()
  local model = body and model_of(body:getBytes(0, body:length()))
  -- A name with other escapes, or with what a header cannot hold, has no route of its own.
  if model and #model <= 256 and not model:find('[^!-~]') and not model:find('\\', 1, true) then
    handle:headers():replace('x-gateway-model-name', model)
  end
end

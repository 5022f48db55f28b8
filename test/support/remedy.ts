/** What a refusal says to send instead: an instruction, what was expected, or the values that there are. */
export const remedy =
  /\b(Send|Use|Leave|Offer|Call|Shorten|Choose|Expected|Supported|Must|Try again|Missing required parameter)\b/i;

/** A message that is no report about a domain, or one that exceeds a limit. Its text is for the operator's log. */
export class UnreadableReport extends Error {
  override name = 'UnreadableReport'
}

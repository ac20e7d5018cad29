/** The error for a message that is not a report about a domain, or that exceeds a limit. Its text is for the operator's log. */
export class UnreadableReport extends Error {
  override name = 'UnreadableReport'
}

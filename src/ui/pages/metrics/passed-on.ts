/** Counts the emails that were passed on: they left, and neither arrived, as far as is known, nor came back. */

interface LeftEmails {
  /** All that left. */
  readonly sent: number
  readonly delivered: number
  readonly bounced: number
}

export function countPassedOn({ sent, delivered, bounced }: LeftEmails): number {
  return Math.max(0, sent - delivered - bounced)
}

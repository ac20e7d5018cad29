/**
 * Says with how many sessions mail to a provider begins, and how many messages a session gets, until its replies teach
 * more.
 *
 * Cautious guesses of November 2026, made by hand from what is commonly known of these providers. They were not compared
 * with the providers' own pages, and nothing needs them to be right: they only save the first refusals.
 */
interface StartingLimits {
  /** Sessions at first; the window grows from there. */
  readonly sessions: number
  /** Null: as many as our own limit allows. */
  readonly messagesPerSession: number | null
}

const unknownProvider: StartingLimits = { sessions: 2, messagesPerSession: null }

const byProvider: Readonly<Record<string, StartingLimits>> = {
  google: { sessions: 4, messagesPerSession: 100 },
  microsoft: { sessions: 4, messagesPerSession: null },
  yahoo: { sessions: 3, messagesPerSession: 20 },
  apple: { sessions: 2, messagesPerSession: 50 },
  proton: { sessions: 2, messagesPerSession: 50 },
  gmx: { sessions: 3, messagesPerSession: 100 },
  orange: { sessions: 2, messagesPerSession: 50 },
  mailru: { sessions: 3, messagesPerSession: 50 },
}

/** `provider`: an id of `mail/mailbox-providers`, or another name. */
export function startingLimitsOf(provider: string): StartingLimits {
  return byProvider[provider] ?? unknownProvider
}

/** What a rule of spam scoring is: data, with one pure test over facts. */
import type { SpamFacts } from './facts/spam-facts.js'

export interface SpamRule {
  /** Upper case with underscores; it is shown to users and never given to another rule. */
  readonly name: string
  /** What was found, as a line of a report. */
  readonly description: string
  /** Added to the score where the test holds; below zero: speaks for the message. */
  readonly weight: number
  readonly test: (facts: SpamFacts) => boolean
}

/** A rule that looks for a pattern in the words of a message, in lower case. */
export function wordingRule(name: string, weight: number, description: string, pattern: RegExp): SpamRule {
  return { name, weight, description, test: ({ lowerText }) => pattern.test(lowerText) }
}

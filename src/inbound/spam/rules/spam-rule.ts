/** A rule of spam scoring: data, with one pure test over facts. */
import type { SpamFacts } from '../facts/spam-facts.js'
import { wording } from '../facts/wording.js'

export interface SpamRule {
  /** Upper case with underscores; shown to users and never reused for another rule. */
  readonly name: string
  /** The finding, as a line of the report. */
  readonly description: string
  /** Added to the score if the test holds; below zero it speaks for the message. */
  readonly weight: number
  readonly test: (facts: SpamFacts) => boolean
}

/** A rule that matches a pattern in the message's wording, in lower case. */
export function wordingRule(name: string, weight: number, description: string, pattern: RegExp): SpamRule {
  const hasWording = wording(pattern)
  return { name, weight, description, test: ({ wordedText }) => hasWording(wordedText) }
}

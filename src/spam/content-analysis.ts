/**
 * What the content of a message says, as far as it can be told without the database: made in the
 * process that takes the message apart (`messages/mime/mime-parts`), so that no rule and no word list
 * ever holds up the daemon, whatever a stranger has written.
 */
import type { ParsedMessage } from '../messages/mime/mime-parts-protocol.js'
import type { SpamContribution } from '../storage/tables/inbound-tables.js'
import { tokenizeMessage } from './bayes/tokens.js'
import { buildSpamMessage, type SpamContext } from './spam-input.js'
import type { SpamMessage } from './spam-message.js'
import { scoreByRules } from './spam-report.js'

export interface ContentAnalysis {
  /** Of the rules that hold. */
  readonly rules: readonly SpamContribution[]
  /** What the classifier looks up. */
  readonly tokens: readonly string[]
}

export function analyzeContent(message: ParsedMessage, context: SpamContext): ContentAnalysis {
  return analyzeMessage(buildSpamMessage(message, context))
}

export function analyzeMessage(message: SpamMessage): ContentAnalysis {
  return { rules: scoreByRules(message).contributions, tokens: tokenizeMessage(message) }
}

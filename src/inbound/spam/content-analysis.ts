/**
 * The part of spam scoring that needs no database: rules and tokens of the content. It runs in the process that takes
 * the message apart (`messages/mime/mime-parts`), so that no rule and no word list blocks the daemon.
 */

import type { SpamContribution } from '../../base/storage/tables/inbound-tables.js'
import type { ParsedMessage } from '../../records/messages/mime/mime-parts-protocol.js'
import { packTokenKeys } from './bayes/tokens.js'
import { buildSpamMessage, type SpamContext } from './facts/spam-input.js'
import type { SpamMessage } from './facts/spam-message.js'
import { scoreByRules } from './rules/spam-report.js'

export interface ContentAnalysis {
  /** The contributions of the rules that match. */
  readonly rules: readonly SpamContribution[]
  /** Distinct keys of the tokens that the classifier looks up, packed, in base64. */
  readonly keys: string
}

export function analyzeContent(message: ParsedMessage, context: SpamContext): ContentAnalysis {
  return analyzeMessage(buildSpamMessage(message, context))
}

export function analyzeMessage(message: SpamMessage): ContentAnalysis {
  return { rules: scoreByRules(message).contributions, keys: packTokenKeys(message) }
}

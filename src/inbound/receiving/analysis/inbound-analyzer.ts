/**
 * Analyzes inbound mail in the processes that parse messages: the fields of its record, and its content analysis for
 * the spam score. So no header, rule or word list holds up the daemon, whatever the message contains.
 */
import type { MimeReader } from '../../../records/messages/mime/mime-parts.js'
import type { ContentAnalyzer } from '../../../records/messages/mime/mime-parts-protocol.js'
import { analyzeContent, type ContentAnalysis } from '../../spam/content-analysis.js'
import type { SpamContext } from '../../spam/facts/spam-input.js'
import { type InboundSummary, summarizeInbound } from './inbound-content.js'

export interface AnalyzedContent {
  readonly summary: InboundSummary
  readonly analysis: ContentAnalysis
}

export type InboundReader = MimeReader<InboundSummary, SpamContext, ContentAnalysis>

type InboundAnalyzer = ContentAnalyzer<InboundSummary, SpamContext, ContentAnalysis>

/** Under the name that the processes import. */
export const contentAnalyzer: InboundAnalyzer = {
  module: new URL(import.meta.url),
  summarize: summarizeInbound,
  analyze: analyzeContent,
}

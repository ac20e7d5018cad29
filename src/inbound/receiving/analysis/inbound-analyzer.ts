/**
 * Analyzes inbound mail in the processes that parse messages. It makes the fields of the record, and the content
 * analysis for the spam score. No header, rule or word list delays the daemon, whatever the message contains.
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

/** The processes import it under this name. */
export const contentAnalyzer: InboundAnalyzer = {
  module: new URL(import.meta.url),
  summarize: summarizeInbound,
  analyze: analyzeContent,
}

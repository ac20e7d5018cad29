/**
 * Processes a message before it is answered: its results are in the commit that stores it, so there is one commit of it
 * and its bytes are read once.
 *
 * Only a small message with one copy: whatever it contains, it is read in a moment. If it is not processed in time, it is
 * accepted as it is and processed later.
 */
import { spamContextOf } from '../spam/received-spam-message.js'
import type { AnalyzeEarly } from './early-analysis.js'
import { REFUSAL_TIME_LIMIT } from './early-score.js'
import type { AnalyzedContent } from './inbound-analyzer.js'
import type { InboundCopy } from './inbound-copies.js'
import type { ProcessedMail, ProcessMail } from './process-mail.js'
import type { ReceivedMessage } from './received-message.js'

interface EarlyProcessorDeps {
  readonly analyzeEarly: AnalyzeEarly
  readonly processMail: ProcessMail
}

/**
 * Null: it is to be processed later. `content`: null if it is yet to be analyzed. `mayBeRefused`: the answer depends on its
 * score, so more time is taken for it. Never rejects.
 */
export type ProcessEarly = (
  message: ReceivedMessage,
  copy: InboundCopy,
  content: AnalyzedContent | null,
  mayBeRefused: boolean,
) => Promise<ProcessedMail | null>

/** Octets, of a message as it is stored. */
const MAX_SIZE = 65_535
/** Milliseconds. */
const TIME_LIMIT = 2_000

export function mayBeProcessedEarly({ email: { kind, size } }: InboundCopy): boolean {
  return kind === 'mail' && size <= MAX_SIZE
}

export function createEarlyProcessor({ analyzeEarly, processMail }: EarlyProcessorDeps): ProcessEarly {
  return ({ raw: received, client: { session } }, { email, bytes }, content, mayBeRefused) => {
    const message = {
      received,
      copy: () => Buffer.concat(bytes.pieces),
      workspaceId: email.workspace_id,
      content,
      contextOf: () => spamContextOf(email),
      session,
    }
    return analyzeEarly(message, mayBeRefused ? REFUSAL_TIME_LIMIT : TIME_LIMIT, ({ raw, summary, analysis }) =>
      processMail(email, raw, summary, analysis),
    )
  }
}

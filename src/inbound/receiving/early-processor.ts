/**
 * Processes a message before it is answered: its results are in the commit that stores it, so there is one commit of it
 * and its bytes are read once.
 *
 * Only a small message with one copy: whatever it contains, it is read in a moment. If it is not processed in time, it is
 * accepted as it is and processed later.
 */
import { spamContextOf } from '../spam/received-spam-message.js'
import type { EarlyAnalyzer } from './analysis/early-analyzer.js'
import type { AnalyzedContent } from './analysis/inbound-analyzer.js'
import type { ReceivedMessage } from './authentication/received-message.js'
import { REFUSAL_TIME_LIMIT } from './early-scorer.js'
import type { InboundCopy } from './inbound-copies.js'
import type { MailProcessor, ProcessedMail } from './mail-processor.js'

interface ProcessorDeps {
  readonly analyzer: Pick<EarlyAnalyzer, 'analyze'>
  readonly mail: Pick<MailProcessor, 'process'>
}

/** Octets, of a message as it is stored. */
const MAX_SIZE = 65_535
/** Milliseconds. */
const TIME_LIMIT = 2_000

export function mayBeProcessedEarly({ email: { kind, size } }: InboundCopy): boolean {
  return kind === 'mail' && size <= MAX_SIZE
}

export class EarlyProcessor {
  constructor(private readonly deps: ProcessorDeps) {}

  /**
   * Null if the message is to be processed later. `content` is null if it is yet to be analyzed. `mayBeRefused` says
   * that the answer depends on its score, so more time is taken for it. Never rejects.
   */
  process(
    { bytes: received, client: { session } }: ReceivedMessage,
    { email, bytes }: InboundCopy,
    content: AnalyzedContent | null,
    mayBeRefused: boolean,
  ): Promise<ProcessedMail | null> {
    const message = {
      received: received.read(),
      copy: () => Buffer.concat(bytes.pieces),
      workspaceId: email.workspace_id,
      content,
      contextOf: () => spamContextOf(email),
      session,
    }
    const timeLimit = mayBeRefused ? REFUSAL_TIME_LIMIT : TIME_LIMIT
    return this.deps.analyzer.analyze(message, timeLimit, ({ raw, summary, analysis }) =>
      this.deps.mail.process(email, raw, summary, analysis),
    )
  }
}

/**
 * A message as it is stored, with its trace fields, and what is made of its content, in the thread that has
 * authenticated it and has its bytes.
 *
 * Only a message of less than 64 KB is analyzed in a thread. For a larger one, the content is null: it takes more time
 * and memory, so it is read in a process (`messages/mime/mime-parts`).
 */
import type { Authentication, Connection } from '../../../base/mail/authentication-results.js'
import { type Header, scanHeader } from '../../../base/mail/header-fields.js'
import { MessageContent } from '../../../records/messages/mime/message-content.js'
import type { SpamContext } from '../../spam/facts/spam-input.js'
import { buildSpamContext } from '../../spam/received-spam-message.js'
import { type AnalyzedContent, contentAnalyzer } from '../analysis/inbound-analyzer.js'
import { buildResultFields } from '../authentication/result-fields.js'
import { type TraceFacts, withTrace } from '../authentication/trace-fields.js'

/** Octets. */
const MAX_ANALYZED = 65_536

/** A place in the message as received. */
export type ByteRange = readonly [start: number, end: number]

/** `pieces` has places, and texts in UTF-8. `content` is null if the message is to be read in a process. */
export interface FoundForm {
  readonly pieces: readonly (ByteRange | string)[]
  readonly content: AnalyzedContent | null
}

/** `header` is the header of `raw`. */
export function makeStoredForm(
  { raw, header }: { readonly raw: Buffer; readonly header: Header },
  trace: TraceFacts,
  authentication: Authentication,
  connection: Connection,
): FoundForm {
  const results = buildResultFields(authentication, connection)
  const pieces = withTrace(raw, header, trace, results)
  const context = buildSpamContext(connection, authentication, trace.now)
  return {
    pieces: pieces.filter(({ length }) => length > 0).map((piece) => toStoredPiece(piece, raw)),
    content: analyze(Buffer.concat(pieces), context),
  }
}

/** Null if it is too large, or something is wrong with it, which the process will say that reads it. */
function analyze(raw: Buffer, context: SpamContext): AnalyzedContent | null {
  if (raw.length >= MAX_ANALYZED) return null
  try {
    const header = scanHeader(raw)
    const message = { raw, header, parts: new MessageContent(raw, header).read() }
    return { summary: contentAnalyzer.summarize(message), analysis: contentAnalyzer.analyze(message, context) }
  } catch {
    return null
  }
}

function toStoredPiece(piece: Uint8Array, raw: Buffer): ByteRange | string {
  const start = piece.byteOffset - raw.byteOffset
  const end = start + piece.length
  const isWithin = piece.buffer === raw.buffer && start >= 0 && end <= raw.length
  return isWithin ? [start, end] : Buffer.from(piece.buffer, piece.byteOffset, piece.length).toString()
}

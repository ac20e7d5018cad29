/**
 * The content of a message of simple structure, in one pass and without a library. A thread may read it: it is less than
 * 64 KB.
 */
import type { Header } from '../../../base/mail/header-fields.js'
import type { MimeContent, MimeParts } from './mime-parts-protocol.js'
import { type JoinedBodies, readSimpleBodies } from './simple-bodies.js'

/** Null: not of a simple structure, or too large. */
export function parseSimpleContent(raw: Buffer, header: Header): MimeContent | null {
  const simple = readSimpleBodies(raw, header)
  if (simple === null) return null
  const { html, text } = selectBodies(simple, simple.lastLineEnds)
  return { html, text, attachments: [], ambiguous: false }
}

/** A body is null if the message has only the other one, or if it is blank. */
export function selectBodies(body: JoinedBodies | undefined, lastLineEnds: boolean): Pick<MimeParts, 'html' | 'text'> {
  const toBody = (text: string | undefined): string | null => {
    if (text === undefined || text.trim() === '') return null
    return lastLineEnds ? text.replace(/\n$/, '') : text
  }
  return { html: toBody(body?.html), text: toBody(body?.text) }
}

/** A message as the processes that parse messages return it. */
import { scanHeaderOrEmpty } from '../../src/base/mail/header-fields.js'
import type { MimeContent, MimeParts, ParsedMessage } from '../../src/records/messages/mime/mime-parts-protocol.js'

const noParts: MimeParts & MimeContent = { html: null, text: null, headers: [], attachments: [], ambiguous: false }

export function parsedMessage(raw: Buffer, parts: Partial<MimeParts & MimeContent> = {}): ParsedMessage {
  return { raw, header: scanHeaderOrEmpty(raw), parts: { ...noParts, ...parts } }
}

/** Messages taken apart: by the parser in this thread, which shows its coverage, and by the process that is used. */
import { scanHeaderOrEmpty } from '../../../../src/base/mail/header-fields.js'
import { MessageContent } from '../../../../src/records/messages/mime/message-content.js'
import { MimeReader } from '../../../../src/records/messages/mime/mime-parts.js'
import { PartWalker } from '../../../../src/records/messages/mime/structure/part-tree.js'
import { check, type FuzzTarget } from '../target.js'
import { messageSeeds, messageWords } from './message-seeds.js'

/** Text and HTML of a part can each be as long as the part, and a character of one octet becomes up to three. */
const MAX_GROWTH = 8

function parseMessage(input: Buffer): void {
  const { html, text, attachments } = new MessageContent(input, scanHeaderOrEmpty(input)).read()
  const files = attachments.reduce((sum, { size }) => sum + size, 0)
  const size = files + Buffer.byteLength(html ?? '') + Buffer.byteLength(text ?? '')
  check(size <= input.length * MAX_GROWTH + 4_096, `the parts have ${size} octets, the message ${input.length}`)
  const walker = new PartWalker(input)
  let at = 0
  for (const { start, bodyStart, end } of walker.leaves(() => true)) {
    check(start >= at && bodyStart >= start && end >= start && end <= input.length, 'parts lie behind each other')
    at = end
  }
}

let reader: MimeReader | null = null

async function readMessage(input: Buffer): Promise<void> {
  if (reader === null) throw new Error('not open')
  const result = await reader.read('fuzz', () => input)
  check(result.kind !== 'unreadable' || result.why === 'broken', 'a message is read in time and memory')
  if (result.kind !== 'parts') return
  const { attachments } = result.parts
  for (const { filename, content_type, content_id } of attachments) {
    check(
      !/[\p{Cc}]/u.test(`${filename ?? ''}${content_type}${content_id ?? ''}`),
      'names of attachments are printable',
    )
  }
}

export const mimeTargets: readonly FuzzTarget[] = [
  {
    name: 'mime',
    checks: 'read; parts are not much longer than the message, and lie behind each other',
    seeds: messageSeeds,
    words: messageWords,
    run: parseMessage,
  },
  {
    name: 'mime-process',
    checks: 'answered by the process in time and memory; names of attachments are printable',
    seeds: messageSeeds,
    words: messageWords,
    waits: true,
    maxTime: 5_000,
    open: async () => {
      reader = new MimeReader()
    },
    close: async () => reader?.close(),
    run: readMessage,
  },
]

/** Messages taken apart: by the parser in this thread, which shows its coverage, and by the process that is used. */
import { Readable } from 'node:stream'
import { isDeepStrictEqual } from 'node:util'
import { scanHeaderOrEmpty } from '../../../../src/base/mail/header-fields.js'
import { MimeReader } from '../../../../src/records/messages/mime/mime-parts.js'
import { parseByLibrary, parseContent } from '../../../../src/records/messages/mime/parse-parts.js'
import { PartParser } from '../../../../src/records/messages/mime/part-parser.js'
import { readSimpleBodies } from '../../../../src/records/messages/mime/simple-bodies.js'
import { check, type FuzzTarget } from '../target.js'
import { messageSeeds, messageWords } from './message-seeds.js'

const options = { skipHtmlToText: true, skipTextToHtml: true, skipImageLinks: true, skipTextLinks: true }
/** Text and HTML of a part can each be as long as the part, and a character of one octet becomes up to three. */
const MAX_GROWTH = 8

/** What is read in one pass is what the complete parser reads. */
async function compareParsers(input: Buffer): Promise<void> {
  const header = scanHeaderOrEmpty(input)
  if (readSimpleBodies(input, header) === null) return
  const [simple, complete] = [await parseContent(input, header), await parseByLibrary(input)]
  check(isDeepStrictEqual(simple, complete), 'both parsers read the same bodies')
}

async function parseMessage(input: Buffer): Promise<void> {
  await compareParsers(input)
  await parseParts(input)
}

/** An error of the parser makes the message unreadable, as documented. */
function parseParts(input: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    let size = 0
    const parser = new PartParser(
      options,
      ({ content }) => void content.on('data', (chunk: Buffer) => (size += chunk.length)),
    )
    parser.on('error', () => resolve())
    parser.on('data', (part) => {
      if (part.type === 'text') {
        size += Buffer.byteLength(typeof part.html === 'string' ? part.html : '') + Buffer.byteLength(part.text ?? '')
        return
      }
      const content = part.content as Readable
      content.on('data', (chunk: Buffer) => (size += chunk.length))
      content.on('end', () => part.release())
    })
    parser.on('end', () => {
      if (size <= input.length * MAX_GROWTH + 4_096) resolve()
      else reject(new Error(`the content of the parts is ${size} octets, of a message of ${input.length}`))
    })
    Readable.from([input]).pipe(parser)
  })
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
    checks: 'parsed or unreadable; parts are not much longer than the message; one pass reads what the parser reads',
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

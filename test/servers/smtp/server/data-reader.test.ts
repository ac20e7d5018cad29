/** The bytes after DATA, in chunks of any size, beside the parser whose work the reader does. */
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { SMTPStream } from 'smtp-server/lib/smtp-stream'
import t from 'tap'
import { DataReader } from '../../../../src/servers/smtp/server/data-reader.js'

interface Result {
  readonly content: string
  /** Null: the end has not come. */
  readonly rest: string | null
}

function readChunks(chunks: readonly string[]): Result {
  const reader = new DataReader()
  const contents: string[] = []
  for (const [place, chunk] of chunks.entries()) {
    const { content, rest } = reader.read(Buffer.from(chunk, 'latin1'))
    contents.push(content.toString('latin1'))
    if (rest !== null) {
      return { content: contents.join(''), rest: rest.toString('latin1') + chunks.slice(place + 1).join('') }
    }
  }
  return { content: contents.join(''), rest: null }
}

t.test('dots are removed, and the end is found', async (t) => {
  const cases: readonly (readonly [string, string, string | null])[] = [
    ['.\r\n', '', ''],
    ['a\r\n.\r\nQUIT\r\n', 'a\r\n', 'QUIT\r\n'],
    ['..\r\n.\r\n', '.\r\n', ''],
    ['...\r\n..a\r\n.\r\n', '..\r\n.a\r\n', ''],
    ['.a\r\n.\r\n', '.a\r\n', ''],
    ['a.\r\n', 'a.\r\n', null],
    ['a\n.\r\nb\r\n.\r\n', 'a\n.\r\nb\r\n', ''],
    ['a\n..\r\n.\r\n', 'a\n.\r\n', ''],
    ['a\r\n.\rb\r\n.\n.\r\n', 'a\r\n.\rb\r\n.\n.\r\n', null],
    ['a\r\n.\r\n.\r\n', 'a\r\n', '.\r\n'],
    ['', '', null],
  ]
  for (const [data, content, rest] of cases) {
    t.same(readChunks([data]), { content, rest }, JSON.stringify(data))
    t.same(readChunks([...data]), { content, rest }, `${JSON.stringify(data)}, byte by byte`)
  }
})

t.test('what may be the end is held back until the next chunk', async (t) => {
  const reader = new DataReader()
  t.equal(reader.read(Buffer.from('a\r\n.')).content.toString(), 'a\r\n')
  t.equal(reader.read(Buffer.from('\r')).content.length, 0)
  t.equal(reader.read(Buffer.from('b')).content.toString(), '.\rb')
})

/** The content by smtp-server's own parser; null: it has found no end. */
async function readByParser(chunks: readonly string[]): Promise<string | null> {
  const parser = new SMTPStream()
  parser.oncommand = () => undefined
  const stream = parser.startDataMode()
  const pieces: Buffer[] = []
  let ended = false
  stream
    .on('data', (piece: Buffer) => pieces.push(piece))
    .on('end', () => {
      ended = true
    })
  for (const chunk of chunks) {
    if (!parser._dataMode) break
    let taken = false
    parser._feedDataStream(Buffer.from(chunk, 'latin1'), () => {
      taken = true
    })
    while (!taken && parser._dataMode) await turn()
  }
  if (parser._dataMode) return null
  while (!ended) await turn()
  return Buffer.concat(pieces).toString('latin1')
}

t.test('it reads as the parser of smtp-server does', async (t) => {
  const unit = fc.constantFrom('a', '.', '..', '\r\n', '\r\n.', '\r\n..', '\r', '\n')
  // A bare LF before anything else is the one difference: such a message is refused.
  const text = fc.string({ unit, maxLength: 12 }).filter((data) => !data.startsWith('\n'))
  const property = fc.asyncProperty(text, fc.array(fc.nat(20), { maxLength: 4 }), async (data, cuts) => {
    const whole = `${data}\r\n.\r\n`
    const places = [0, ...cuts.toSorted((a, b) => a - b), whole.length]
    const chunks = places.slice(1).map((end, place) => whole.slice(places[place], end))
    const given = chunks.filter((chunk) => chunk !== '')
    t.equal(readChunks(given).content, await readByParser(given), JSON.stringify(given))
  })
  await fc.assert(property)
})

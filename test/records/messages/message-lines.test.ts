/** How a message begins: with its header, behind a line of a mailbox file, or with neither. */
import t from 'tap'
import { checkLines } from '../../../src/records/messages/message-lines.js'

async function keep(text: string): Promise<readonly [string, number]> {
  let dropped = 0
  const onMailboxLine = (): void => {
    dropped += 1
  }
  const raw = await checkLines(Buffer.from(text), { maxLineOctets: 1_000, onMailboxLine })
  return [raw.toString(), dropped]
}

const letter = 'From: a@b.test\r\nSubject: x\r\n\r\nFrom the beginning\r\n'

t.test('a line of a mailbox file is dropped', async (t) => {
  t.same(await keep(letter), [letter, 0])
  t.same(await keep(`From a@b.test Mon Jan  1 00:00:00 2026\r\n${letter}`), [letter, 1])
  t.same(await keep(`>From a@b.test Mon Jan  1 00:00:00 2026\r\n${letter}`), [letter, 1])
})

t.test('so are several, and those that stand below fields of servers on the way', async (t) => {
  const line = 'From a@b.test Mon Jan  1 00:00:00 2026\r\n'
  t.same(await keep(`${line}>${line}${letter}`), [letter, 1])
  const trace = 'Received: by relay.test; Mon, 1 Jan 2026 00:00:00 +0000\r\n'
  t.same(await keep(`${trace}>${line}${letter}`), [`${trace}${letter}`, 1])
  t.same(await keep(`${trace}${line}${trace}${line}${letter}`), [`${trace}${trace}${letter}`, 1])
  for (const text of [
    `${trace}From the beginning: words\r\nSubject: y\r\n`,
    `${trace}${line}\r\nwords\r\n`,
    `${trace}${line}words`,
  ])
    t.same(await keep(text), [text, 0], 'a text')
})

t.test('a message without a header begins with an empty line', async (t) => {
  t.same(await keep('\r\nbody\r\n'), ['\r\nbody\r\n', 0])
  t.same(await keep(''), ['', 0])
})

t.test('a message whose first line is no field is refused with that line', async (t) => {
  const refused = (line: string): Promise<unknown> =>
    t.rejects(
      keep(`${line}\r\nSubject: x\r\n\r\nbody\r\n`),
      { kind: 'malformed-message', message: /not a header field/ },
      line,
    )
  for (const line of [' folded: x', '\tfolded', 'no colon', ': no name', 'zwölf: x']) await refused(line)
  await t.rejects(keep('From a\r\nFrom b\r\n\r\nbody\r\n'), { message: /From a$/ })
  await t.rejects(keep('From a\r\n'), { name: 'Refusal' })
})

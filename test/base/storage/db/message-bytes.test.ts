/** The bytes of a message say whether they are here, and are never read where they are not. */
import t from 'tap'
import { freeMemory } from '../../../../src/base/platform/memory/free-memory.js'
import { MessageBytes } from '../../../../src/base/storage/db/message-bytes.js'

t.test('what a commit leaves in memory', (t) => {
  const raw = Buffer.from('text')
  t.equal(MessageBytes.copied(raw).kept, raw)
  t.equal(MessageBytes.lent(raw).kept, raw)
  t.equal(MessageBytes.moved([raw]).kept, null, 'the writer may have its memory')
  t.equal(MessageBytes.onDisk.kept, null)
  t.end()
})

t.test('bytes are read in one piece, and without a copy if they are one', (t) => {
  const raw = Buffer.from('text')
  t.equal(MessageBytes.moved([raw]).read(), raw)
  t.equal(
    MessageBytes.moved([Buffer.from('a '), new Uint8Array(raw)])
      .read()
      .toString(),
    'a text',
  )
  const view = MessageBytes.lent(raw)
  t.ok(view.shares(raw.subarray(1)))
  t.notOk(view.shares(Buffer.alloc(4)))
  t.end()
})

t.test('bytes that are gone are not read, until they are given back', (t) => {
  const memory = Buffer.alloc(2_000_000, 'text')
  const bytes = MessageBytes.lent(memory)
  freeMemory(memory)
  t.ok(bytes.isGone)
  t.equal(bytes.kept, null)
  t.throws(() => bytes.read(), /another thread has them/)
  t.equal(bytes.length, 2_000_000, 'their number is known')
  bytes.giveBack(new Uint8Array(2_000_000))
  t.equal(bytes.kept?.length, 2_000_000)
  bytes.free()
  t.ok(bytes.isGone)
  t.end()
})

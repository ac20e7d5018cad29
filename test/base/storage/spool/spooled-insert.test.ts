/** Which statements and values go to spool files. */
import t from 'tap'
import { MessageBytes } from '../../../../src/base/storage/db/message-bytes.js'
import type { Write } from '../../../../src/base/storage/db/write.js'
import { listSpooled, toSpooledInsert, withPlace } from '../../../../src/base/storage/spool/spooled-insert.js'
import { insertRaw } from '../../../../src/records/messages/email/raw-message.js'
import { storeRecord } from '../../../../src/records/messages/inbound/inbound-email.js'

const insert = (raw: Buffer | MessageBytes): Write =>
  insertRaw({ email_id: 'e', workspace_id: 'w', created_at: 1, raw })

t.test('the statements that store messages are recognized, and no other', (t) => {
  const spooled = `insert into "raw_messages" ("email_id", "workspace_id", "created_at", "raw", "spool_file", "spool_at", "spool_bytes", "spool_crc") values (?, ?, ?, ?, ?, ?, ?, ?)`
  t.equal(toSpooledInsert(insert(Buffer.alloc(1)).sql), spooled)
  const inbound = storeRecord({} as Parameters<typeof storeRecord>[0], Buffer.alloc(1))
  t.same(
    inbound.map(({ sql }) => toSpooledInsert(sql) !== null),
    [false, true],
  )
  const others = [
    'insert into "emails" ("id", "raw") values (?, ?)',
    'insert into "raw_messages" ("email_id", "raw") values (?, ?) on conflict do nothing',
    'insert into "raw_messages" ("raw", "email_id") values (?, ?)',
    'insert into "raw_messages" ("email_id", "raw") select id, raw from x',
    spooled,
  ]
  for (const sql of others) t.equal(toSpooledInsert(sql), null, sql)
  t.end()
})

t.test('a value of 16 KB is spooled where its batch has 128 KB', (t) => {
  const sizes = (...bytes: number[]): number[] =>
    [...listSpooled(bytes.map((size) => [insert(Buffer.alloc(size))])).values()].map(([piece]) => piece?.length ?? 0)
  t.same(sizes(131_072), [131_072])
  t.same(sizes(131_071), [])
  t.same(sizes(114_688, 16_384), [114_688, 16_384], 'all of a batch count')
  t.same(sizes(131_072, 16_383), [131_072], 'a smaller one stays in the database')
  t.same(sizes(114_689, 16_383), [], 'and does not count')
  const pieces = [Buffer.alloc(100_000), Buffer.alloc(50_000)]
  t.same([...listSpooled([[insert(MessageBytes.moved(pieces))]]).values()], [pieces], 'pieces are not joined')
  t.end()
})

t.test('place and checksum stand for the bytes, and the number of rows stays', (t) => {
  const write = withPlace({ ...insert(Buffer.alloc(9)), rows: 1 }, { file: 7, at: 8, bytes: 9, crc: 10 })
  t.same(write.parameters, ['e', 'w', 1, Buffer.alloc(0), 7, 8, 9, 10])
  t.equal(write.rows, 1)
  t.end()
})

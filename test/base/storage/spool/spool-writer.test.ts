/**
 * Spool files as they are written: places, sizes, new files, and what a failed write leaves.
 *
 * Runs alone: it limits the size of its process's files and listens for the signal that comes with it.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import t from 'tap'
import { listSpoolFiles, spoolFile, type WrittenPlace } from '../../../../src/base/storage/db/spool-files.js'
import { type SpooledValue, SpoolWriter } from '../../../../src/base/storage/spool/spool-writer.js'
import { temporaryFolder } from '../../../helpers/database/database.js'

const bytes = (text: string): Buffer => Buffer.from(text)

/** A batch of these values. */
function append(writer: SpoolWriter, ...values: readonly SpooledValue[]): WrittenPlace[] {
  writer.begin()
  const places = values.map((value) => writer.write(value))
  writer.sync()
  return places
}

t.test('values of a batch lie one behind the other, in pieces or not', (t) => {
  const folder = join(temporaryFolder(t), 'posthorn.db-spool')
  const writer = new SpoolWriter({ folder, named: 0 })
  t.equal(writer.currentFile, null, 'a file is begun with the first value')
  t.same(append(writer, [bytes('one')], [bytes('t'), bytes(''), bytes('wo')]), [
    { file: 1, at: 0, bytes: 3, crc: crc32('one') },
    { file: 1, at: 3, bytes: 3, crc: crc32('two') },
  ])
  t.same(append(writer, [bytes('three')]), [{ file: 1, at: 6, bytes: 5, crc: crc32('three') }])
  t.equal(readFileSync(spoolFile(folder, 1), 'utf8'), 'onetwothree')
  t.equal(statSync(folder).mode & 0o777, 0o700)
  t.equal(statSync(spoolFile(folder, 1)).mode & 0o777, 0o600)
  t.end()
})

t.test('more pieces than one call of the system takes', (t) => {
  const folder = temporaryFolder(t)
  const pieces = Array.from({ length: 3_000 }, (_, place) => bytes(`${place},`))
  append(new SpoolWriter({ folder, named: 0 }), pieces)
  t.equal(readFileSync(spoolFile(folder, 1), 'utf8'), Buffer.concat(pieces).toString())
  t.end()
})

t.test('a new file is begun at the limit, and by each writer', (t) => {
  const folder = temporaryFolder(t)
  const first = new SpoolWriter({ folder, named: 0, maxFileBytes: 10 })
  const filesOf = (writer: SpoolWriter, ...texts: string[]): number[] =>
    texts.flatMap((text) => append(writer, [bytes(text)]).map(({ file }) => file))
  t.same(filesOf(first, '123456789', 'more', 'again'), [1, 1, 2])
  t.same(filesOf(new SpoolWriter({ folder, named: 1 }), 'x'), [3], 'after the files that are there')
  t.same(filesOf(new SpoolWriter({ folder, named: 8 }), 'x'), [9], 'after those that rows name')
  t.end()
})

t.test('what is taken back is cut off, and the next one begins there', (t) => {
  const folder = temporaryFolder(t)
  const writer = new SpoolWriter({ folder, named: 0 })
  append(writer, [bytes('stays')])
  append(writer, [bytes('goes')], [bytes('too')])
  writer.takeBack()
  writer.takeBack()
  t.equal(readFileSync(spoolFile(folder, 1), 'utf8'), 'stays', 'only the last batch, and only once')
  t.match(append(writer, [bytes('next')]), [{ file: 1, at: 5, bytes: 4 }])
  writer.abandon()
  t.equal(readFileSync(spoolFile(folder, 1), 'utf8'), 'staysnext')
  t.match(append(writer, [bytes('x')]), [{ file: 2, at: 0, bytes: 1 }])
  writer.takeBack()
  writer.abandon()
  t.same(listSpoolFiles(folder), [1], 'a file without a byte goes')
  t.end()
})

t.test('a value that is undone is cut off, with those behind it', (t) => {
  const folder = temporaryFolder(t)
  const writer = new SpoolWriter({ folder, named: 0, maxFileBytes: 10 })
  append(writer, [bytes('before')])
  writer.begin()
  writer.write([bytes('long enough')])
  const undone = writer.write([bytes('goes')])
  t.equal(undone.file, 1, 'a batch is in one file')
  writer.write([bytes('too')])
  writer.undo(undone)
  t.equal(readFileSync(spoolFile(folder, 1), 'utf8'), 'beforelong enough')
  t.match(writer.write([bytes('next')]), { file: 1, at: 17 })
  writer.takeBack()
  t.equal(readFileSync(spoolFile(folder, 1), 'utf8'), 'before')
  t.end()
})

t.test('a file that cannot grow refuses the batch, and keeps those before', (t) => {
  const folder = temporaryFolder(t)
  const writer = new SpoolWriter({ folder, named: 0 })
  append(writer, [bytes('stays')])
  process.on('SIGXFSZ', () => undefined) // without it, a listener of the test runner ends the process
  const limit = (to: string): unknown => execFileSync('prlimit', ['--pid', `${process.pid}`, `--fsize=${to}`])
  limit('100000:unlimited')
  t.teardown(() => limit('unlimited:unlimited'))
  t.throws(() => append(writer, [Buffer.alloc(90_000)], [Buffer.alloc(20_000)]), {
    name: 'StorageFault',
    code: 'SQLITE_FULL',
  })
  writer.takeBack()
  t.equal(readFileSync(spoolFile(folder, 1), 'utf8'), 'stays')
  t.match(append(writer, [bytes('next')]), [{ file: 1, at: 5, bytes: 4 }])
  t.end()
})

t.test('a folder that cannot be made is a fault', (t) => {
  const folder = join(temporaryFolder(t), 'a file')
  writeFileSync(folder, '')
  t.throws(() => append(new SpoolWriter({ folder, named: 0 }), [bytes('x')]), {
    name: 'StorageFault',
    code: 'SQLITE_CANTOPEN',
  })
  t.end()
})

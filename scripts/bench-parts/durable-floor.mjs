// smtp-server and SQLite, and nothing else: a message is one row with its bytes, committed in groups by a thread, and its
// answer waits for the commit.
//
// Its rate is the limit of what a durable server made of these two packages can accept on a machine: without a policy, a queue,
// an index, an event or a log. Started with a port and a folder it is that server; imported it is a side of a comparison.
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isMainThread, parentPort, receiveMessageOnPort, Worker, workerData } from 'node:worker_threads'
import { SMTPServer } from 'smtp-server'
import { startProgram } from './processes.mjs'

const program = fileURLToPath(import.meta.url)

export const durableFloor = {
  name: 'smtp-server and SQLite alone',
  start: async ({ folder }) => {
    const data = mkdtempSync(join(folder, 'durable-'))
    const server = await startProgram(program, data)
    const stop = async () => {
      await server.stop()
      rmSync(data, { recursive: true })
    }
    return { ...server, stop }
  },
}

if (!isMainThread) await write(workerData)
else if (process.argv[1] === program) serve(Number(process.argv[2]), join(process.argv[3], 'mail.db'))

function serve(port, file) {
  const writer = new Worker(program, { workerData: file })
  const waiting = []
  writer.on('message', (count) => {
    for (const done of waiting.splice(0, count)) done(null, 'ok')
  })
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    onData: (stream, _session, done) => {
      const pieces = []
      stream.on('data', (piece) => pieces.push(piece))
      stream.on('end', () => {
        waiting.push(done)
        // In memory of its own: of a pool all would be copied.
        writer.postMessage(new Uint8Array(Buffer.concat(pieces)))
      })
    },
  })
  writer.once('online', () => server.listen(port, '127.0.0.1'))
}

/** All that has arrived while the last group was written is one transaction. */
async function write(file) {
  const { default: SQLite } = await import('better-sqlite3')
  const db = new SQLite(file)
  db.pragma('journal_mode = wal')
  db.pragma('synchronous = full')
  db.exec('create table message (id integer primary key, raw blob not null)')
  const insert = db.prepare('insert into message (raw) values (?)')
  const begin = db.prepare('begin immediate')
  const commit = db.prepare('commit')
  parentPort.on('message', (first) => {
    const group = [first]
    for (let next = receiveMessageOnPort(parentPort); next; next = receiveMessageOnPort(parentPort))
      group.push(next.message)
    begin.run()
    for (const raw of group) insert.run(raw)
    commit.run()
    parentPort.postMessage(group.length)
  })
}

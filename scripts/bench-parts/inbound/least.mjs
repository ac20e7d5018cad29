// An MX made of the packages that Posthorn is made of, and of its authentication and scoring, and nothing else: smtp-server
// takes a message, Posthorn's threads authenticate it and analyze its content, a thread commits it as one row together with
// all that arrived meanwhile, and its answer waits for that.
//
// Its rate is the limit of what such a server can take on a machine: no recipients, policy, greylisting, limits, opinion of a
// classifier, index, event, destination, crash guard or log. A second one does not score. Started with a port, a folder, a DNS
// server and `scored` or `unscored` it is that server; imported it is a side of a comparison.
import { mkdtempSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isMainThread, parentPort, receiveMessageOnPort, Worker, workerData } from 'node:worker_threads'
import { SMTPServer } from 'smtp-server'
import { environmentOfUnit } from '../../lib/unit-environment.mjs'
import { startBound } from '../processes.mjs'

const program = fileURLToPath(import.meta.url)
const load = (name) => import(resolve('dist/src', name))

export const leastInbound = { name: 'the least MX', start: (how) => start(how, true) }
export const unscoredInbound = { name: 'the same, unscored', start: (how) => start(how, false) }

async function start({ folder, dns, cores }, isScored) {
  const data = mkdtempSync(join(folder, 'least-mx-'))
  const server = await startBound(
    { cores, env: environmentOfUnit() },
    program,
    data,
    dns,
    isScored ? 'scored' : 'unscored',
  )
  const { default: SQLite } = await import('better-sqlite3')
  const database = new SQLite(join(data, 'mail.db'), { readonly: true, fileMustExist: true })
  const count = database.prepare('select count(*) from message').pluck()
  return {
    ...server,
    filed: () => count.get(),
    verify: () => verify(database, isScored),
    stop: async () => {
      database.close()
      await server.stop()
      rmSync(data, { recursive: true })
    },
  }
}

/** Makes sure that this side does all of its work. */
function verify(database, isScored) {
  const { authentication, score } = database.prepare('select authentication, score from message').get()
  const { spf, dkim, dmarc } = JSON.parse(authentication)
  const passes = [spf, ...dkim, dmarc].every(({ result }) => result === 'pass')
  if (!passes || (score !== null) !== isScored)
    throw new Error(`the least MX filed ${authentication} with the score ${score}`)
}

if (!isMainThread) await write(workerData)
else if (process.argv[1] === program) {
  const [, , port, folder, dns, scored] = process.argv
  const { limitHeapGrowth } = await load('base/platform/memory/heap.js')
  limitHeapGrowth()
  await serve(Number(port), join(folder, 'mail.db'), await startThreads(dns, scored === 'scored'))
}

async function serve(port, file, authenticate) {
  const writer = new Worker(program, { workerData: file })
  const waiting = []
  writer.on('message', (count) => {
    for (const done of waiting.splice(0, count)) done(null, 'ok')
  })
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    onData: (stream, session, done) => {
      const pieces = []
      stream.on('data', (piece) => pieces.push(piece))
      stream.on('end', async () => {
        const row = await authenticate(Buffer.concat(pieces), session)
        waiting.push(done)
        writer.postMessage(row, [row.raw.buffer])
      })
    },
  })
  writer.once('online', () => server.listen(port, '127.0.0.1'))
}

/** Those of Posthorn, as many as it has. Returns what makes a message a row. */
async function startThreads(dns, isScored) {
  const { MessageThreads } = await load('inbound/receiving/threads/message-threads.js')
  const { MessageBytes } = await load('base/storage/db/message-bytes.js')
  const { openResolver } = await load('base/platform/dns/resolver.js')
  const { scanHeader } = await load('base/mail/header-fields.js')
  const how = { servers: [{ address: dns, port: 53 }], timeout: 3000, tries: 3, cacheSize: 20_000 }
  const resolver = openResolver(how, Date.now, new AbortController().signal)
  const onFailure = (cause) => {
    throw cause
  }
  const threads = new MessageThreads({ resolver, clock: Date.now, onFailure })
  return async (raw, { remoteAddress, hostNameAppearsAs: helo, envelope }) => {
    const hostname = 'mail.home.test'
    const from = envelope.mailFrom.address
    const recipient = envelope.rcptTo[0].address
    const connection = { clientAddress: remoteAddress, helo, hostname, envelopeFrom: from }
    const received = {
      returnPath: from,
      helo,
      address: remoteAddress,
      hostname,
      protocol: 'ESMTP',
      tls: null,
      recipient,
    }
    const trace = { ...received, now: Date.now(), id: '0190a000-0000-7000-8000-000000000001' }
    const { authenticationJson, form } = await threads.authenticate(
      MessageBytes.lent(raw),
      scanHeader(raw),
      connection,
      isScored ? trace : null,
    )
    const score = isScored ? form.content.analysis.rules.reduce((sum, rule) => sum + rule.score, 0) : null
    return { raw: new Uint8Array(raw), authentication: authenticationJson, score }
  }
}

/** All that has arrived while the last group was written is one transaction. */
async function write(file) {
  const { default: SQLite } = await import('better-sqlite3')
  const db = new SQLite(file)
  db.pragma('journal_mode = wal')
  db.pragma('synchronous = full')
  db.exec('create table message (id integer primary key, raw blob not null, authentication text, score real)')
  const insert = db.prepare('insert into message (raw, authentication, score) values (?, ?, ?)')
  const begin = db.prepare('begin immediate')
  const commit = db.prepare('commit')
  parentPort.on('message', (first) => {
    const group = [first]
    for (let next = receiveMessageOnPort(parentPort); next; next = receiveMessageOnPort(parentPort))
      group.push(next.message)
    begin.run()
    for (const { raw, authentication, score } of group) insert.run(raw, authentication, score)
    commit.run()
    parentPort.postMessage(group.length)
  })
}

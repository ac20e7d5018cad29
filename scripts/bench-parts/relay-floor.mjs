// A durable relay that signs, made of the packages that Posthorn is made of, and nothing else: smtp-server takes a message, a
// thread commits it as one row together with all that arrived meanwhile, another thread signs it with RSA-2048, it goes out over
// kept sessions with pipelining, and its row is deleted with the next commit.
//
// Its rate is the limit of what such a server can relay on a machine: no policy, queue, lease, index, event, retry, timeout or
// log. A message whose delivery fails stays as a row, and the program ends. Started with a port, a folder and the port of the
// next host it is that server; imported it is a side of a comparison.
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isMainThread, parentPort, receiveMessageOnPort, Worker, workerData } from 'node:worker_threads'
import { SMTPServer } from 'smtp-server'
import { RECIPIENT, SENDER } from './load.mjs'
import { startProgram } from './processes.mjs'

const program = fileURLToPath(import.meta.url)
/** As many as Posthorn and Postfix may have to one host in the same comparison. */
const SESSIONS = 20

export const relayFloor = {
  name: 'smtp-server, SQLite, RSA',
  start: async ({ folder, sink }) => {
    const data = mkdtempSync(join(folder, 'relay-floor-'))
    const server = await startProgram(program, data, String(sink))
    const stop = async () => {
      await server.stop()
      rmSync(data, { recursive: true })
    }
    return { ...server, stop }
  },
}

if (!isMainThread) await (workerData.role === 'writer' ? write(workerData.file) : sign())
else if (process.argv[1] === program) {
  const [, , port, folder, sink] = process.argv
  await serve(Number(port), join(folder, 'mail.db'), Number(sink))
}

async function serve(port, file, sink) {
  const { dotStuff } = await import(resolve('dist/src/outbound/delivery/smtp/dot-stuffing.js'))
  let lastId = 0
  const post = startThread({ role: 'writer', file }, (writes) => {
    for (const { stored } of writes) stored?.()
  })
  const waiting = []
  const idle = []
  const deliver = (message) => (idle.length > 0 ? idle.pop()(message) : waiting.push(message))
  const requestSignature = startThread({ role: 'signer' }, (messages, fields) => {
    for (const [at, message] of messages.entries()) deliver({ ...message, field: fields[at] })
  })
  for (let session = 0; session < SESSIONS; session += 1) {
    openSession(sink, dotStuff, (id, takeNext) => {
      if (id !== undefined) post({ id })
      if (waiting.length > 0) takeNext(waiting.shift())
      else idle.push(takeNext)
    })
  }
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    onData: (stream, _session, done) => {
      const pieces = []
      stream.on('data', (piece) => pieces.push(piece))
      stream.on('end', () => {
        // In memory of its own: of a pool all would be copied.
        const raw = new Uint8Array(Buffer.concat(pieces))
        lastId += 1
        const id = lastId
        const stored = () => {
          done(null, 'ok')
          requestSignature({ id, raw })
        }
        post({ id, raw, stored })
      })
    },
  })
  server.listen(port, '127.0.0.1')
}

/** Posts what one turn of the event loop asks for at once; `onAnswer` gets the same items with what the thread says. */
function startThread(data, onAnswer) {
  const thread = new Worker(program, { workerData: data })
  const posted = []
  let gathered = []
  thread.on('message', (answer) => {
    for (const result of answer) onAnswer(posted.shift(), result)
  })
  thread.on('error', (error) => {
    throw error
  })
  return (item) => {
    gathered.push(item)
    if (gathered.length > 1) return
    setImmediate(() => {
      posted.push(gathered)
      thread.postMessage(gathered.map(({ id, raw }) => ({ id, raw })))
      gathered = []
    })
  }
}

/** Calls `onReady` with the id of the message that was accepted, none at first, and a function that sends the next one. */
function openSession(port, dotStuff, onReady) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  const envelope = `MAIL FROM:<${SENDER}>\r\nRCPT TO:<${RECIPIENT}>\r\nDATA\r\n`
  let message
  const send = (next) => {
    message = next
    socket.write(envelope)
  }
  /** What is done after each reply: banner, EHLO; then MAIL, RCPT, DATA and the end of the message, over and over. */
  const steps = [
    () => socket.write('EHLO mail.bench.test\r\n'),
    () => onReady(undefined, send),
    () => undefined,
    () => undefined,
    () => {
      socket.cork()
      for (const piece of dotStuff([Buffer.from(message.field), message.raw])) socket.write(piece)
      socket.uncork()
    },
    () => onReady(message.id, send),
  ]
  let step = 0
  readReplies(socket, (reply) => {
    if (!/^[23]/.test(reply)) throw new Error(`the next host refuses: ${reply}`)
    steps[step]()
    step = step === steps.length - 1 ? 2 : step + 1
  })
}

/** Calls `onReply` with the last line of each. */
function readReplies(socket, onReply) {
  let rest = ''
  socket.setEncoding('latin1').on('data', (text) => {
    const lines = (rest + text).split('\r\n')
    rest = lines.pop()
    for (const line of lines) if (line[3] !== '-') onReply(line)
  })
}

/** All that has arrived while the last group was written is one transaction. An answer has one result for each post. */
async function write(file) {
  const { default: SQLite } = await import('better-sqlite3')
  const db = new SQLite(file)
  db.pragma('journal_mode = wal')
  db.pragma('synchronous = full')
  db.exec('create table message (id integer primary key, raw blob not null)')
  const insert = db.prepare('insert into message (id, raw) values (?, ?)')
  const remove = db.prepare('delete from message where id = ?')
  const begin = db.prepare('begin immediate')
  const commit = db.prepare('commit')
  parentPort.on('message', (first) => {
    const posts = [first]
    for (let next = receiveMessageOnPort(parentPort); next; next = receiveMessageOnPort(parentPort))
      posts.push(next.message)
    begin.run()
    for (const { id, raw } of posts.flat()) raw === undefined ? remove.run(id) : insert.run(id, raw)
    commit.run()
    parentPort.postMessage(posts.map(() => null))
  })
}

/** By the code of Posthorn: relaxed/relaxed, with the hash of the body. */
async function sign() {
  const { generateKeyPairSync } = await import('node:crypto')
  const { signDkim } = await import(resolve('dist/src/workspaces/domains/dkim/sign.js'))
  const keyObject = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  const key = { domain: 'bench.test', selector: 'bench', keyObject }
  parentPort.on('message', (messages) => {
    const now = Date.now()
    const fields = messages.map(({ raw }) => signDkim(Buffer.from(raw.buffer, raw.byteOffset, raw.length), key, now))
    parentPort.postMessage([fields])
  })
}

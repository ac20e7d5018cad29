// The MX hosts: twelve addresses on one port. They count each message whose final dot they have read, and can be down,
// silent, slow, a tarpit, or break connections.
import { once } from 'node:events'
import { createServer } from 'node:net'
import { addressOfHost, FAULTY_DOMAINS, listHosts } from './names.mjs'

const SLOW = 1_500
/** Messages with links that wait for their reader. */
const MAX_UNREAD = 200

/** `mode` of the result: "ok", "down", "silent", "slow", "tarpit", "resetting", "busy" (4xx). */
export async function openSink(ledger, random) {
  const state = { mode: 'ok', unread: [], sockets: new Set(), ledger, random }
  const port = await choosePort()
  const servers = new Map()
  for (const { domain, host } of listHosts()) servers.set(host, { domain, host, server: null })
  const up = async (entry) => {
    entry.server = createServer((socket) => new Session(socket, entry, state))
    entry.server.listen(port, addressOfHost(entry.host))
    await once(entry.server, 'listening')
  }
  for (const entry of servers.values()) await up(entry)
  return {
    port,
    state,
    setMode: async (mode) => {
      const wasDown = state.mode === 'down'
      state.mode = mode
      const faulty = [...servers.values()].filter(({ domain }) => domain <= FAULTY_DOMAINS)
      if (wasDown && mode !== 'down') for (const entry of faulty) await up(entry)
      if (mode === 'down') for (const entry of faulty) entry.server.close()
      if (mode === 'down') for (const session of state.sockets) if (session.isFaulty) session.reset()
    },
    takeMessage: () => state.unread.shift(),
    close: () => {
      for (const { server } of servers.values()) server.close()
      for (const session of state.sockets) session.reset()
    },
  }
}

/** A port that is free at the first address is taken to be free at all. */
async function choosePort() {
  const server = createServer().listen(0, addressOfHost(listHosts()[0].host))
  await once(server, 'listening')
  const { port } = server.address()
  await new Promise((done) => server.close(done))
  return port
}

class Session {
  #socket
  #state
  #held = ''
  #inData = false
  #recipients = []
  /** Replies go out one after the other, whatever the pace. */
  #sending = Promise.resolve()
  #pending = new Set()

  constructor(socket, { domain }, state) {
    this.#socket = socket
    this.#state = state
    this.isFaulty = domain <= FAULTY_DOMAINS
    state.sockets.add(this)
    socket.setNoDelay(true)
    socket.on('error', () => undefined)
    socket.on('close', () => {
      state.sockets.delete(this)
      for (const arrival of this.#pending) arrival.cut = true
    })
    socket.on('data', (chunk) => this.#read(chunk.toString('latin1')))
    if (this.#mode !== 'silent') this.#reply('220 sink ESMTP')
  }

  get #mode() {
    return this.isFaulty ? this.#state.mode : 'ok'
  }

  reset() {
    this.#socket.resetAndDestroy()
  }

  #read(text) {
    if (this.#mode === 'silent') return
    this.#held += text
    for (;;) {
      const mark = this.#inData ? '\r\n.\r\n' : '\r\n'
      const end = this.#held.indexOf(mark)
      if (end === -1 || this.#socket.destroyed) return
      const words = this.#held.slice(0, end)
      this.#held = this.#held.slice(end + mark.length)
      if (this.#inData) this.#takeMessage(words)
      else this.#takeCommand(words)
    }
  }

  #takeCommand(line) {
    if (this.#mode === 'resetting' && this.#state.random() < 0.15) return this.reset()
    const verb = line.slice(0, 4).toUpperCase()
    if (verb === 'EHLO') return this.#reply('250-sink\r\n250 PIPELINING')
    if (verb === 'MAIL') this.#recipients = []
    if (verb === 'RCPT') return this.#takeRecipient(line)
    if (verb === 'QUIT') return this.#reply('221 2.0.0 bye', () => this.#socket.end())
    if (verb !== 'DATA') return this.#reply('250 2.0.0 ok')
    if (this.#recipients.length === 0) return this.#reply('503 5.5.1 no recipient')
    this.#inData = true
    this.#reply('354 go on')
  }

  #takeRecipient(line) {
    const local = /<([^@>]+)@/.exec(line)?.[1] ?? ''
    if (local.startsWith('gone')) return this.#reply('550 5.1.1 no such user')
    if (this.#mode === 'busy' && this.#state.random() < 0.7) return this.#reply('451 4.7.1 try again later')
    this.#recipients.push(local)
    this.#reply('250 2.1.5 ok')
  }

  #takeMessage(text) {
    this.#inData = false
    const recipients = this.#recipients
    this.#recipients = []
    const { ledger, random, unread } = this.#state
    if (this.#mode === 'resetting' && random() < 0.15) return this.reset()
    if (this.#mode === 'busy' && random() < 0.3) return this.#reply('452 4.3.1 no room')
    const broadcast = /^Subject: Broadcast (\d+)/m.exec(text)?.[1]
    if (text.includes('/v1/track/') && unread.length < MAX_UNREAD) unread.push(text)
    // Notices to the sender and to the owner are no messages of the ledger.
    const counted = recipients.filter((local) => /^[mc]\d/.test(local))
    const keys = counted.map((local) => (broadcast === undefined ? local : `b${broadcast}-${local}`))
    const isReset = this.#mode === 'resetting' && random() < 0.2
    const arrivals = keys.map((key) => ledger.arrive(key, isReset))
    if (isReset) return this.reset()
    for (const arrival of arrivals) this.#pending.add(arrival)
    this.#reply('250 2.0.0 taken', () => {
      for (const arrival of arrivals) this.#pending.delete(arrival)
    })
  }

  #reply(words, then = () => undefined) {
    this.#sending = this.#sending.then(() => this.#send(`${words}\r\n`)).then(then)
  }

  async #send(text) {
    if (this.#mode === 'slow') await pause(SLOW)
    while (this.#mode === 'tarpit' && text !== '' && !this.#socket.destroyed) {
      this.#socket.write(text[0])
      text = text.slice(1)
      await pause(700)
    }
    if (this.#socket.destroyed || text === '') return
    await new Promise((done) => this.#socket.write(text, done))
  }
}

function pause(milliseconds) {
  return new Promise((done) => setTimeout(done, milliseconds))
}

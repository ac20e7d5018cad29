// An SMTP server that keeps one provider's limits and counts what it refuses and why.
import { once } from 'node:events'
import { createServer } from 'node:net'
import { createLimiter } from './limiters.mjs'

const BLOCKED_IN_SESSION = '421 4.7.1 your address is listed for poor reputation, closing connection'

/** Reasons that are a matter of pace. */
export const paceReasons = ['sessions', 'rate', 'perSession']

export async function openProvider(provider, port, seeded) {
  const limiter = createLimiter(provider.rate)
  const state = {
    accepted: 0,
    refused: { sessions: 0, rate: 0, perSession: 0, greylisting: 0, block: 0, content: 0 },
    /** Messages of which no more attempt is to come. */
    settled: 0,
    sessions: 0,
    mostSessions: 0,
    firstAccepted: null,
    lastAccepted: null,
  }
  const rules = { provider, limiter, state, greylist: new Map(), passes: 0, seeded }
  const server = createServer((socket) => serve(socket, rules)).listen(port, provider.address)
  await once(server, 'listening')
  return { provider, state, close: () => server.close() }
}

function serve(socket, rules) {
  const { provider, state } = rules
  socket.setNoDelay(true)
  socket.on('error', () => undefined)
  const refusal = refuseSession(rules)
  if (refusal !== null) {
    state.refused[refusal] += 1
    socket.end(`${provider.refusals[refusal]}\r\n`)
    return
  }
  state.sessions += 1
  state.mostSessions = Math.max(state.mostSessions, state.sessions)
  socket.on('close', () => {
    state.sessions -= 1
  })
  const session = { socket, rules, count: 0, recipient: null, sender: null, phase: 'commands', held: '' }
  socket.setEncoding('latin1')
  socket.on('data', (chunk) => read(session, chunk))
  socket.write(`220 ${provider.hosts[0]} ESMTP\r\n`)
}

function refuseSession({ provider, state }) {
  if (isBlocked(provider, state)) return 'block'
  return state.sessions >= provider.sessions ? 'sessions' : null
}

function isBlocked({ block }, { firstAccepted }) {
  if (block === undefined || firstAccepted === null) return false
  const since = Date.now() - firstAccepted
  return since >= block.from && since < block.from + block.length
}

/** `phase`: "commands", "data", "busy" until the message is taken, or "over". */
function read(session, chunk) {
  session.held += chunk
  while (session.phase === 'commands' || session.phase === 'data') {
    const mark = session.phase === 'data' ? '\r\n.\r\n' : '\r\n'
    const end = session.held.indexOf(mark)
    if (end === -1) return
    const line = session.held.slice(0, end)
    session.held = session.held.slice(end + mark.length)
    if (session.phase === 'data') takeMessage(session)
    else answer(session, line)
  }
}

function answer(session, line) {
  const { socket, rules } = session
  const verb = line.slice(0, 4).toUpperCase()
  const reply = (text) => socket.write(`${text}\r\n`)
  if (verb === 'EHLO')
    reply(`250-${rules.provider.hosts[0]}\r\n250-PIPELINING\r\n250-ENHANCEDSTATUSCODES\r\n250 8BITMIME`)
  else if (verb === 'MAIL') beginMessage(session, line)
  else if (verb === 'RCPT') addRecipient(session, line)
  else if (verb === 'DATA') {
    if (session.recipient !== null) session.phase = 'data'
    reply(session.recipient === null ? '503 5.5.1 no recipient' : '354 go on')
  } else if (verb === 'QUIT') {
    session.phase = 'over'
    socket.end('221 2.0.0 bye\r\n')
  } else if (verb === 'RSET' || verb === 'NOOP') {
    session.sender = null
    session.recipient = null
    reply('250 2.0.0 ok')
  } else reply('502 5.5.2 unknown')
}

function beginMessage(session, line) {
  const { rules } = session
  const { provider, limiter, state } = rules
  session.sender = null
  session.recipient = null
  if (isBlocked(provider, state)) return refuse(session, 'block')
  if (session.count >= (provider.messagesPerSession ?? Number.POSITIVE_INFINITY)) return refuse(session, 'perSession')
  if (!limiter.take(Date.now())) return refuse(session, 'rate')
  session.sender = line.slice(10).split(' ')[0]
  session.socket.write('250 2.1.0 ok\r\n')
}

/** 421 ends the session. */
function refuse(session, reason) {
  const { socket, rules } = session
  const text = reason === 'block' ? BLOCKED_IN_SESSION : rules.provider.refusals[reason]
  rules.state.refused[reason] += 1
  if (!text.startsWith('421')) return socket.write(`${text}\r\n`)
  session.phase = 'over'
  socket.end(`${text}\r\n`)
}

function addRecipient(session, line) {
  const { socket, rules } = session
  const recipient = line.slice(8).split(' ')[0]
  if (session.sender === null) socket.write('503 5.5.1 MAIL first\r\n')
  else if (isGreylisted(rules, recipient)) {
    rules.state.refused.greylisting += 1
    socket.write(`${rules.provider.refusals.greylisting}\r\n`)
  } else {
    session.recipient = recipient
    socket.write('250 2.1.5 ok\r\n')
  }
}

/** As postgrey does: a client of which some messages have passed is not asked again. */
function isGreylisted(rules, recipient) {
  const { greylisting } = rules.provider
  if (greylisting === undefined || rules.passes >= greylisting.passes) return false
  const first = rules.greylist.get(recipient)
  if (first === undefined) rules.greylist.set(recipient, Date.now())
  if (first === undefined || Date.now() - first < greylisting.delay) return true
  rules.passes += 1
  return false
}

function takeMessage(session) {
  const { socket, rules } = session
  session.phase = 'busy'
  const { provider, state, seeded } = rules
  setTimeout(() => {
    session.phase = 'commands'
    session.recipient = null
    session.sender = null
    session.count += 1
    state.settled += 1
    if (provider.content !== undefined && seeded() * provider.content < 1) {
      state.refused.content += 1
      socket.write('550 5.7.1 Message rejected as spam by content filtering\r\n')
    } else {
      state.accepted += 1
      state.firstAccepted ??= Date.now()
      state.lastAccepted = Date.now()
      socket.write('250 2.0.0 taken\r\n')
    }
    read(session, '')
  }, provider.service)
}

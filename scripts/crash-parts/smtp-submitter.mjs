// A client of an SMTP listener, submission or MX, that sends one numbered message after the other, and
// reconnects when it is disconnected.
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

const LINE = 'some text\r\n'

/** Lines of a message: of 50 KB, of 200 KB, which alone is enough for a spool file, and mostly of 1 KB. */
function linesOf(number) {
  if (number % 4 === 0) return 20_000
  return number % 4 === 1 ? 5_000 : 100
}

/** Runs until the signal aborts; reports each number whose 250 was read to the ledger. */
export async function submitBySmtp(signal, listener, ledger) {
  while (!signal.aborted) {
    await session(signal, listener, ledger).catch(() => undefined)
    if (!signal.aborted) await sleep(20)
  }
}

async function session(signal, { name, port, from, to }, ledger) {
  const socket = connect(port, '127.0.0.1').setNoDelay(true)
  try {
    const reply = replies(socket)
    await reply()
    socket.write('EHLO client\r\n')
    await reply()
    while (!signal.aborted) {
      const number = ledger.nextNumber()
      socket.write(`MAIL FROM:<${from}>\r\nRCPT TO:<${to}>\r\nDATA\r\n`)
      for (let command = 0; command < 3; command += 1) await reply()
      const lines = linesOf(number)
      const fields = [
        `From: ${from}`,
        `To: ${to}`,
        `Subject: number ${number}`,
        `X-Number: ${number}`,
        `X-Lines: ${lines}`,
      ]
      socket.write(`${fields.join('\r\n')}\r\n\r\n${LINE.repeat(lines)}.\r\n`)
      const answer = await reply()
      const id = /^250 2\.0\.0 Ok: queued as (\S+)$/.exec(answer)?.[1]
      if (id === undefined) ledger.strange(`${name}: ${answer}`)
      else ledger.accepted(name, number, id)
    }
  } finally {
    socket.destroy()
  }
}

/** Each call resolves to the last line of the next reply; rejects when the connection is gone. */
function replies(socket) {
  let buffered = ''
  let waiting = null
  let gone = null
  const serve = () => {
    if (waiting === null) return
    const match = /^(?:\d{3}-.*\r\n)*(\d{3} .*)\r\n/.exec(buffered)
    if (match !== null) {
      buffered = buffered.slice(match[0].length)
      const { resolve } = waiting
      waiting = null
      resolve(match[1])
    } else if (gone !== null) {
      waiting.reject(gone)
      waiting = null
    }
  }
  const end = (error) => {
    gone ??= error
    serve()
  }
  socket.on('data', (chunk) => {
    buffered += chunk.toString('latin1')
    serve()
  })
  socket.on('error', end)
  socket.on('close', () => end(new Error('connection closed')))
  return () =>
    new Promise((resolve, reject) => {
      waiting = { resolve, reject }
      serve()
    })
}

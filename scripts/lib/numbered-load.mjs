// A client of an SMTP listener, submission or MX, that sends one numbered message after the other, and
// reconnects when it is disconnected.
import { setTimeout as sleep } from 'node:timers/promises'
import { openConversation } from './smtp-client.mjs'

const LINE = 'some text\r\n'

/** Lines of a message: of 50 KB, of 200 KB, which alone is enough for a spool file, and mostly of 1 KB. */
function linesOf(number) {
  if (number % 4 === 0) return 20_000
  return number % 4 === 1 ? 5_000 : 100
}

/**
 * Runs until the signal aborts; reports to the ledger each number whose 250 was read as `accepted`, and each temporary refusal
 * as `refused`, after which it connects again. Any other answer is `strange`.
 */
export async function submitBySmtp(signal, listener, ledger) {
  while (!signal.aborted) {
    await session(signal, listener, ledger).catch(() => ledger.unanswered())
    if (!signal.aborted) await sleep(20)
  }
}

async function session(signal, { name, port, from, to }, ledger) {
  const { ask, close } = openConversation({ port })
  try {
    for (const line of [null, 'EHLO client']) {
      const reply = await ask(line)
      if (!reply.startsWith('2')) return refuse(ledger, name, null, reply)
    }
    while (!signal.aborted) {
      const number = ledger.nextNumber()
      for (const lines of [`MAIL FROM:<${from}>\r\nRCPT TO:<${to}>\r\nDATA`, null, null]) {
        const reply = await ask(lines)
        if (!/^[23]/.test(reply)) return refuse(ledger, name, number, reply)
      }
      const lines = linesOf(number)
      const fields = [`From: ${from}`, `To: ${to}`, `Subject: number ${number}`, `X-Number: ${number}`]
      const answer = await ask(`${fields.join('\r\n')}\r\nX-Lines: ${lines}\r\n\r\n${LINE.repeat(lines)}.`)
      const id = /^250 2\.0\.0 Ok: queued as (\S+)$/.exec(answer)?.[1]
      if (id === undefined) return refuse(ledger, name, number, answer)
      ledger.accepted(name, number, id)
    }
  } finally {
    close()
  }
}

function refuse(ledger, name, number, reply) {
  if (reply.startsWith('4')) ledger.refused(name, number, reply)
  else ledger.strange(`${name}: ${reply}`)
}

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

/** Runs until the signal aborts; reports each number whose 250 was read to the ledger. */
export async function submitBySmtp(signal, listener, ledger) {
  while (!signal.aborted) {
    await session(signal, listener, ledger).catch(() => undefined)
    if (!signal.aborted) await sleep(20)
  }
}

async function session(signal, { name, port, from, to }, ledger) {
  const { ask, close } = openConversation({ port })
  try {
    await ask(null)
    await ask('EHLO client')
    while (!signal.aborted) {
      const number = ledger.nextNumber()
      await ask(`MAIL FROM:<${from}>\r\nRCPT TO:<${to}>\r\nDATA`)
      for (let reply = 0; reply < 2; reply += 1) await ask(null)
      const lines = linesOf(number)
      const fields = [`From: ${from}`, `To: ${to}`, `Subject: number ${number}`, `X-Number: ${number}`]
      const answer = await ask(`${fields.join('\r\n')}\r\nX-Lines: ${lines}\r\n\r\n${LINE.repeat(lines)}.`)
      const id = /^250 2\.0\.0 Ok: queued as (\S+)$/.exec(answer)?.[1]
      if (id === undefined) ledger.strange(`${name}: ${answer}`)
      else ledger.accepted(name, number, id)
    }
  } finally {
    close()
  }
}

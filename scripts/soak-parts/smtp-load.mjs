// Clients of the SMTP listeners: sessions of numbered messages, with pauses, on plain connections or over TLS with AUTH.
import { setTimeout as sleep } from 'node:timers/promises'
import { openConversation } from '../lib/smtp-client.mjs'
import { recipientOf, SENDER } from './names.mjs'

const MESSAGES_PER_SESSION = 30

/** `listener`: { via, port, pause, tls?, key?, inbound? }. */
export async function loadSmtp(run, listener) {
  while (!run.signal.aborted) {
    await runSession(run, listener).catch(() => undefined)
    if (!run.signal.aborted) await sleep(200)
  }
}

async function runSession(run, listener) {
  const conversation = openConversation(listener)
  try {
    const { ask } = conversation
    if (!(await ask(null)).startsWith('220')) return
    await ask('EHLO mail.elsewhere.test')
    if (listener.key !== undefined) {
      const answer = await ask(`AUTH PLAIN ${Buffer.from(`\0soak\0${listener.key}`).toString('base64')}`)
      if (!answer.startsWith('235')) return surprise(run, listener, answer)
    }
    for (let times = 0; times < MESSAGES_PER_SESSION && !run.signal.aborted; times += 1) {
      await sendMessage(run, listener, ask)
      await sleep(listener.pause * (0.5 + run.random()))
    }
    await ask('QUIT')
  } finally {
    conversation.close()
  }
}

async function sendMessage(run, listener, ask) {
  const number = run.ledger.nextNumber()
  const from = listener.inbound ? 'stranger@elsewhere.test' : SENDER
  const keys = listener.inbound ? ['anybody@soak.test'] : recipientsOf(number)
  let answer = await ask(`MAIL FROM:<${from}>`)
  for (const to of keys) if (answer.startsWith('250')) answer = await ask(`RCPT TO:<${to}>`)
  if (answer.startsWith('250')) answer = await ask('DATA')
  if (!answer.startsWith('354')) {
    surprise(run, listener, answer)
    await ask('RSET')
    return
  }
  answer = await ask(listener.inbound ? inboundMessage(number) : outboundMessage(number, keys))
  const id = /^250 2\.0\.0 Ok: queued as (\S+)$/.exec(answer)?.[1]
  if (id === undefined) surprise(run, listener, answer)
  else run.ledger.accept(listener.via, number, id, listener.inbound ? [] : keys.map((key) => key.split('@')[0]))
}

/** One message in ten has three recipients. */
export function recipientsOf(number) {
  return Array.from({ length: number % 10 === 0 ? 3 : 1 }, (_, place) => recipientOf(number, place))
}

function surprise({ ledger, timeline }, { via }, answer) {
  if (/^[45]\d\d/.test(answer)) {
    const kind = `${via} ${answer.slice(0, 9)}`
    ledger.served[kind] = (ledger.served[kind] ?? 0) + 1
  }
  if (!answer.startsWith('4')) ledger.surprise(via, answer, timeline.name())
}

function outboundMessage(number, recipients) {
  const head = `From: ${SENDER}\r\nTo: ${recipients.join(', ')}\r\nSubject: number ${number}\r\n`
  return `${head}\r\n${'Some text of a message.\r\n'.repeat(40)}.`
}

/** With parts and a file, so that it must be taken apart. */
function inboundMessage(number) {
  const head = `From: stranger@elsewhere.test\r\nTo: anybody@soak.test\r\nSubject: number ${number}\r\nMIME-Version: 1.0\r\n`
  const file = Buffer.alloc(1_500, number).toString('base64').replace(/.{76}/g, '$&\r\n')
  return `${head}Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nSome text.\r\n--b
Content-Type: application/pdf; name=a.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\n${file}\r\n--b--\r\n.`.replace(
    /([^\r])\n/g,
    '$1\r\n',
  )
}

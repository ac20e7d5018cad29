/** Mail for the pages of received mail: a daemon that receives it, and a message that attacks who reads it. */
import type { Test } from 'tap'
import { formatMessageDate } from '../../../src/base/mail/message-date.js'
import { type TestDaemon, type TestDaemonOptions, testDaemon } from '../daemon/test-daemon.js'
import { openMxSession } from '../smtp/deliver-inbound.js'
import { waitUntil } from '../wait-until.js'

/** With home.test, which receives mail. */
export async function receivingDaemon(t: Test, options: TestDaemonOptions): Promise<TestDaemon> {
  const app = await testDaemon(t, options)
  const added = await app.cli('domain', 'add', 'home.test', '--inbound', '--force', '--workspace', app.workspaceId)
  if (added.status !== 0) throw new Error(added.err)
  const client = await openMxSession(t, app)
  await client.sendCommand('EHLO mx.b.test')
  await waitUntil('the listener knows the domain', async () => {
    await client.sendCommand('MAIL FROM:<>')
    const reply = await client.sendCommand('RCPT TO:<a@home.test>')
    await client.sendCommand('RSET')
    return reply.startsWith('250')
  })
  return app
}

/** Sets `hacked` in the page that takes it for HTML. */
export const ATTACK = '<img src=x onerror="window.hacked=1">'

/** An attack in the name, subject, header, text, HTML and file name. */
export const hostileMessage = [
  'From: "<script>window.hacked=1</script>" <ann@b.test>',
  'To: Support <info@home.test>',
  `Subject: ${ATTACK}`,
  'Message-ID: <hostile@b.test>',
  `Date: ${formatMessageDate(Date.now())}`,
  `X-Attack: ${ATTACK}`,
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary=outer',
  '',
  '--outer',
  'Content-Type: multipart/alternative; boundary=inner',
  '',
  '--inner',
  'Content-Type: text/plain',
  '',
  `How do you do? ${ATTACK}`,
  '--inner',
  'Content-Type: text/html',
  '',
  `<h1>Good day</h1>${ATTACK}<script>window.top.hacked=1</script><a href="javascript:window.top.hacked=1">here</a>`,
  '--inner--',
  '--outer',
  'Content-Type: text/html',
  `Content-Disposition: attachment; filename="<img src=x onerror=window.hacked=1>.html"`,
  '',
  '<script>window.hacked=1</script>',
  '--outer--',
  '',
].join('\r\n')

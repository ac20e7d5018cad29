/** What the sandbox says on the terminal. Pure. */
import { emailLines } from '../cli/email-lines.js'
import type { Listen } from '../config/places.js'
import { shown } from '../mail/address.js'
import type { EmailStory } from '../messages/email-story.js'
import type { Configured } from './configuration.js'
import type { Verdict } from './dkim-verdict.js'
import { DOMAIN, type Places } from './places.js'
import type { Arrival } from './sink.js'

export function arrivalLine({ to, subject, verdict, file }: Arrival): string {
  return `arrived  to ${to.map(shown).join(', ')}  "${shown(subject)}"  ${verdictWords(verdict)}  sink/${file}`
}

function verdictWords({ result, signature }: Verdict): string {
  return signature === null ? 'not signed' : `DKIM ${result} (${shown(signature.domain)})`
}

/** `door`: how it came in. */
export function storyLines(door: string, story: EmailStory): string[] {
  const indented = emailLines(story).map((line) => (line === '' ? '' : `  ${line}`))
  return ['', `How it got there, from submission over ${door} on:`, '', ...indented, '']
}

export interface Guide {
  readonly places: Places
  readonly configured: Configured
  readonly key: string
  readonly caFile: string
  /** The program behind the command line, as a path. */
  readonly program: string
  readonly emailId: string
}

export function guideLines(guide: Guide): string[] {
  const { places, configured, program, emailId } = guide
  const posthorn = (words: string): string =>
    `  node ${quoted(program)} ${words} --config ${quoted(places.configuration)}`
  return [
    'Send one yourself, over SMTP with STARTTLS or with TLS from the start (the password is the key):',
    '',
    swaks(guide, configured.startTls, '--tls'),
    swaks(guide, configured.tls, '--tls-on-connect'),
    '',
    'or over REST (the bearer token is the key):',
    '',
    curl(guide),
    '',
    ...inboundLines(guide),
    `To bounce@${DOMAIN} the sink answers 550, to defer@${DOMAIN} 451. Look at what happens:`,
    '',
    posthorn(`explain ${emailId}`),
    posthorn('queue list'),
    '',
    `The configuration, the log and what arrives are in ${places.folder}. Nothing leaves this machine.`,
    'Serving until Ctrl-C.',
    '',
  ]
}

function inboundLines({ key, caFile, configured: { api, mx } }: Guide): string[] {
  if (mx === undefined) return []
  const fields = `-H 'Authorization: Bearer ${key}'`
  return [
    `Bring mail for ${DOMAIN}, any address of it, as another server would, and read it:`,
    '',
    `  swaks --server ${mx.host}:${mx.port} --tls --from friend@elsewhere.example --to ${RECIPIENT}`,
    `  curl --cacert ${quoted(caFile)} ${fields} https://${api.host}:${api.port}/v1/inbound`,
    '',
  ]
}

const SENDER = `app@${DOMAIN}`
const RECIPIENT = `you@${DOMAIN}`

function swaks({ key, caFile }: Guide, { host, port }: Listen, mode: string): string {
  const trust = `--tls-verify --tls-ca-path ${quoted(caFile)}`
  const login = `--auth PLAIN --auth-user any --auth-password ${key}`
  return `  swaks --server ${host}:${port} ${mode} ${trust} ${login} --from ${SENDER} --to ${RECIPIENT}`
}

function curl({ key, caFile, configured: { api } }: Guide): string {
  const email = JSON.stringify({ from: SENDER, to: RECIPIENT, subject: 'Hello', text: 'Sent with curl.' })
  const fields = `-H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json'`
  return `  curl --cacert ${quoted(caFile)} ${fields} -d '${email}' https://${api.host}:${api.port}/v1/emails`
}

/** As one word of a shell. */
function quoted(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
}

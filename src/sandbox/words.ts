/** What the sandbox says on the terminal. Pure. */
import { emailLines } from '../cli/email-lines.js'
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

export function storyLines(story: EmailStory): string[] {
  const indented = emailLines(story).map((line) => (line === '' ? '' : `  ${line}`))
  return ['', 'How it got there, from submission over SMTP (STARTTLS, AUTH) on:', '', ...indented, '']
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

export function guideLines({ places, configured: { startTls, tls }, key, caFile, program, emailId }: Guide): string[] {
  const trust = `--tls-verify --tls-ca-path ${quoted(caFile)}`
  const login = `--auth PLAIN --auth-user any --auth-password ${key}`
  const envelope = `--from app@${DOMAIN} --to you@${DOMAIN}`
  const swaks = (port: number, mode: string): string =>
    `  swaks --server ${startTls.host}:${port} ${mode} ${trust} ${login} ${envelope}`
  const posthorn = (words: string): string =>
    `  node ${quoted(program)} ${words} --config ${quoted(places.configuration)}`
  return [
    'Send one yourself, with STARTTLS or with TLS from the start (the password is the key):',
    '',
    swaks(startTls.port, '--tls'),
    swaks(tls.port, '--tls-on-connect'),
    '',
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

/** As one word of a shell. */
function quoted(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
}

/**
 * Writes the manual page sendmail.posthorn(8).
 *
 *   node sendmail-manual.mjs --version V --date 2026-01-31     prints it
 */
import { parseArgs } from 'node:util'
import { exitCodes } from '../../dist/src/operations/sendmail/exit-codes.js'
import { item, section, toRoff } from './roff.mjs'

const text = { type: 'string' }
const { version, date } = parseArgs({ options: { version: text, date: text } }).values

const options = {
  '-t': 'send also to the addresses in To, Cc and Bcc',
  '-i, -oi': 'a line with only a dot does not end the message',
  '-f ADDRESS, -r ADDRESS': 'the envelope sender; "" or <> is the null sender',
  '-F NAME': 'the name for From, if the message has no From with an address',
  '-q': 'send what is in the spool',
  '-bp': 'list what is in the spool',
}

const meanings = {
  ok: 'the server has accepted the message, or it is in the spool',
  usage: 'unknown option or mode such as -bs, or no recipient',
  dataError: 'the server refuses the content of the message',
  noUser: 'a recipient is not an address, or the server refuses it',
  unavailable: 'the server refuses the sender, or the message for another reason',
  temporaryFailure: 'the message cannot be sent now, and it cannot be spooled',
  noPermission: 'the server refuses the key, or the user may not read it',
  configuration: 'the configuration is wrong or cannot be read',
}

const page = [
  `.TH SENDMAIL.POSTHORN 8 "${date}" "posthorn ${toRoff(version)}" "Posthorn"`,
  ...section('Name', [toRoff('sendmail.posthorn - hand mail of this machine to a Posthorn server')]),
  ...section('Synopsis', ['.B sendmail', toRoff('[-t] [-i] [-f ADDRESS] [-F NAME] [RECIPIENT...]')]),
  ...section('Description', [
    toRoff('Reads a message from standard input and hands it to the submission listener of a Posthorn server.'),
    toRoff('While the server is away, the message waits in a spool; the next call sends it, and so does a timer.'),
    toRoff('A user who may not read the key writes to that spool too.'),
    toRoff('A recipient without a domain is looked up in /etc/aliases, and else gets the domain of the sender.'),
  ]),
  ...section(
    'Options',
    [...Object.entries(options), ['others', 'options of Sendmail that change nothing here are ignored']].flatMap(
      (one) => item(one),
    ),
  ),
  ...section(
    'Exit status',
    Object.entries(exitCodes).flatMap(([name, code]) => item([`${code}`, meanings[name]])),
  ),
  ...section('Files', [
    ...item([
      '/etc/posthorn/sendmail.toml',
      'server, key_file and sender; POSTHORN_SENDMAIL_CONFIG names another file',
    ]),
    ...item(['/var/spool/posthorn-sendmail', 'the spool; $XDG_STATE_HOME/posthorn-sendmail if that variable is set']),
  ]),
  ...section('See also', ['.BR posthorn (1)']),
]
process.stdout.write(`${page.join('\n')}\n`)

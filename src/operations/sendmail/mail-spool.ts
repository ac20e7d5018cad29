/**
 * Keeps messages in a folder while the server is away. A message is there once its file is renamed, after its bytes are
 * on the disk. A file is the envelope as one line of JSON, and the message.
 *
 * All users of the machine write to the shared folder, so its files are read with care: only regular files with one name
 * and of a limited size, never through a link, and only valid addresses. Root reads those of all users, others their own:
 * a user must not send what another one has written. Known limit: two calls may send a message at the same time; its
 * idempotency key then makes one of the two.
 */
import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type Address, tryParseAddress } from '../../base/mail/address.js'
import { errorCodeOf, errorMessageOf } from '../../base/platform/errors.js'
import { uuidv7 } from '../../base/platform/ids.js'
import { isRecord } from '../../base/platform/records.js'
import { exitCodes, SendmailFault } from './exit-codes.js'
import type { OutgoingMessage } from './hand-over.js'

const ENDING = '.mail'
/** Names are printed, so that those with other characters are no messages. */
const spooledName = /^[\w-]{1,64}\.mail$/
const REFUSED_ENDING = '.refused'
const MAX_FILE = 128 * 1_048_576

export interface SpooledMessage {
  readonly id: string
  readonly message: OutgoingMessage
}

export class MailSpool {
  constructor(
    private readonly folder: string,
    /** Whether it is the folder of all users. */
    readonly isShared: boolean,
  ) {}

  /** Returns once the message is on the disk. Throws a SendmailFault `temporaryFailure`. */
  add({ sender, recipients, raw }: OutgoingMessage, now: number): void {
    const id = uuidv7(now)
    try {
      this.makeFolder()
      const part = join(this.folder, `${id}.part`)
      const file = openSync(part, 'wx', 0o600)
      try {
        writeFileSync(file, `${JSON.stringify({ sender, recipients })}\n`)
        writeFileSync(file, raw)
        fsyncSync(file)
      } finally {
        closeSync(file)
      }
      renameSync(part, join(this.folder, id + ENDING))
      this.syncFolder()
    } catch (error) {
      const isClosed = this.isShared && ['ENOENT', 'EACCES'].includes(errorCodeOf(error) ?? '')
      const cure = isClosed ? `; as root, run: install -d -m 1777 ${this.folder}` : ''
      const text = `the message cannot be sent now, and it cannot be spooled: ${errorMessageOf(error)}${cure}`
      throw new SendmailFault(exitCodes.temporaryFailure, text)
    }
  }

  /** The messages that this user may read, oldest first. */
  *messages(): Generator<SpooledMessage> {
    for (const name of this.list()) {
      const message = this.read(name)
      if (message !== null) yield { id: name.slice(0, -ENDING.length), message }
    }
  }

  remove(id: string): void {
    rmSync(join(this.folder, id + ENDING), { force: true })
  }

  /** Keeps a message that the server has refused, for the operator. It is not sent again. */
  setAside(id: string): void {
    renameSync(join(this.folder, id + ENDING), join(this.folder, id + REFUSED_ENDING))
  }

  /** Only root can make the shared folder as the package makes it. */
  private makeFolder(): void {
    if (!this.isShared) mkdirSync(this.folder, { recursive: true, mode: 0o700 })
    else if (ownUser() === ROOT && mkdirSync(this.folder, { recursive: true }) !== undefined) {
      chmodSync(this.folder, 0o1777)
    }
  }

  private list(): readonly string[] {
    try {
      return readdirSync(this.folder)
        .filter((name) => spooledName.test(name))
        .sort()
    } catch {
      return []
    }
  }

  private read(name: string): OutgoingMessage | null {
    try {
      const file = openSync(join(this.folder, name), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
      try {
        const size = sizeOfTrusted(file)
        return size === null ? null : parseSpooled(readBytes(file, size))
      } finally {
        closeSync(file)
      }
    } catch {
      // It is of another user, or was sent by another call.
      return null
    }
  }

  private syncFolder(): void {
    const folder = openSync(this.folder, 'r')
    try {
      fsyncSync(folder)
    } finally {
      closeSync(folder)
    }
  }
}

const ROOT = 0

function ownUser(): number {
  return process.geteuid?.() ?? ROOT
}

/** Null for what this user must not send. */
function sizeOfTrusted(file: number): number | null {
  const stats = fstatSync(file)
  const isOwn = ownUser() === ROOT || stats.uid === ownUser()
  return isOwn && stats.isFile() && stats.nlink === 1 && stats.size <= MAX_FILE ? stats.size : null
}

/** Reads no more than `size` bytes: the owner may still write to the file. */
function readBytes(file: number, size: number): Buffer {
  const bytes = Buffer.alloc(size)
  let end = 0
  for (let read = -1; read !== 0 && end < size; end += read) read = readSync(file, bytes, end, size - end, null)
  return bytes.subarray(0, end)
}

function parseSpooled(bytes: Buffer): OutgoingMessage | null {
  const end = bytes.indexOf('\n')
  const envelope: unknown = JSON.parse(bytes.toString('utf8', 0, Math.max(end, 0)))
  if (!isRecord(envelope)) return null
  const { sender, recipients } = envelope
  if ((sender !== '' && readAddress(sender) === null) || typeof sender !== 'string') return null
  if (!Array.isArray(recipients) || recipients.length === 0) return null
  const addresses = recipients.map(readAddress)
  const known = addresses.filter((one) => one !== null)
  return known.length === addresses.length ? { sender, recipients: known, raw: bytes.subarray(end + 1) } : null
}

function readAddress(value: unknown): Address | null {
  return typeof value === 'string' ? tryParseAddress(value) : null
}

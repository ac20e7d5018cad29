/**
 * Keeps messages in a folder while the server is away. A message is there once its file is renamed, after its bytes are
 * on the disk. A file is the envelope as one line of JSON, and the message.
 *
 * All users of the machine write to the folder, so files of others are read with care: only regular files with one name,
 * never through a link. Known limit: two calls may send a message at the same time; its idempotency key then makes one of
 * the two.
 */
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { errorMessageOf } from '../../base/platform/errors.js'
import { uuidv7 } from '../../base/platform/ids.js'
import { isRecord } from '../../base/platform/records.js'
import { exitCodes, SendmailFault } from './exit-codes.js'
import type { OutgoingMessage } from './hand-over.js'

const ENDING = '.mail'
const REFUSED_ENDING = '.refused'
const MAX_FILE = 128 * 1_048_576

interface SpooledMessage {
  readonly id: string
  readonly message: OutgoingMessage
}

export class MailSpool {
  constructor(private readonly folder: string) {}

  /** Returns once the message is on the disk. Throws a SendmailFault `temporaryFailure`. */
  add({ sender, recipients, raw }: OutgoingMessage, now: number): void {
    const id = uuidv7(now)
    try {
      mkdirSync(this.folder, { recursive: true, mode: 0o700 })
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
      const text = `the server is away, and the message cannot be spooled: ${errorMessageOf(error)}`
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

  private list(): readonly string[] {
    try {
      return readdirSync(this.folder)
        .filter((name) => name.endsWith(ENDING))
        .sort()
    } catch {
      return []
    }
  }

  private read(name: string): OutgoingMessage | null {
    try {
      const file = openSync(join(this.folder, name), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
      try {
        const { nlink, size, isFile } = describeFile(file)
        return isFile && nlink === 1 && size <= MAX_FILE ? parseSpooled(readFileSync(file)) : null
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

function describeFile(file: number): { readonly nlink: number; readonly size: number; readonly isFile: boolean } {
  const stats = fstatSync(file)
  return { nlink: stats.nlink, size: stats.size, isFile: stats.isFile() }
}

function parseSpooled(bytes: Buffer): OutgoingMessage | null {
  const end = bytes.indexOf('\n')
  const envelope: unknown = JSON.parse(bytes.toString('utf8', 0, Math.max(end, 0)))
  if (!isRecord(envelope)) return null
  const { sender, recipients } = envelope
  if (typeof sender !== 'string' || !Array.isArray(recipients)) return null
  const addresses: readonly unknown[] = recipients
  const texts = addresses.filter((one) => typeof one === 'string')
  return texts.length === addresses.length ? { sender, recipients: texts, raw: bytes.subarray(end + 1) } : null
}

/**
 * `spam learn DIR --as spam|ham`: trains the classifier of a workspace with messages in files, one message per file. In
 * a Maildir the files are those of `cur` and `new`, otherwise those of the folder itself; hidden files and folders are
 * ignored.
 *
 * A running daemon uses what is learned from the next message on. A message that was learned before is recognized by
 * its bytes; if its last verdict was the other one, it is learned again.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { formatForDisplay } from '../../../base/mail/address.js'
import { scanHeader } from '../../../base/mail/header-fields.js'
import type { Store } from '../../../base/storage/db/database.js'
import type { BayesVerdict } from '../../../base/storage/tables/inbound-tables.js'
import { learnMessage } from '../../../inbound/spam/bayes/learn.js'
import { messageDigester } from '../../../inbound/spam/bayes/lesson-digest.js'
import { MimeReader } from '../../../records/messages/mime/mime-parts.js'
import {
  type Answer,
  type Call,
  CommandFailed,
  refuseExtraWords,
  requiredOption,
  requiredWord,
  UsageError,
} from '../command/command.js'
import { chooseWorkspace } from '../command/workspace-choice.js'

/** Messages that are learned at a time, so that they share commits; one process parses them. */
const CONCURRENCY = 16
const MAX_LISTED_FILES = 20

type Outcome = 'learned' | 'known' | 'unreadable'

interface LearnDeps {
  readonly database: Store
  readonly mime: MimeReader
  readonly workspaceId: string
  readonly verdict: BayesVerdict
  readonly now: () => number
  /** Bytes of a message. */
  readonly maxSize: number
}

export async function learn({ words, options, config, clock, database: openDatabase }: Call): Promise<Answer> {
  refuseExtraWords(words, 1)
  const folder = requiredWord(words, 0, 'DIR')
  const verdict = parseVerdict(requiredOption(options, 'as'))
  const files = listMessageFiles(folder)
  const database = await openDatabase()
  const workspaceId = await chooseWorkspace(database.read, options)
  const mime = new MimeReader()
  try {
    const maxSize = config.inbound.max_size
    const outcomes = await learnAll(files, { database, mime, workspaceId, verdict, now: clock, maxSize })
    return buildReport(files, outcomes)
  } finally {
    await mime.close()
  }
}

function parseVerdict(said: string): BayesVerdict {
  if (said === 'spam' || said === 'ham') return said
  throw new UsageError(`--as: found "${said}", allowed: spam, ham`)
}

/** Ordered by name, so that learning twice gives the same result. */
function listMessageFiles(folder: string): readonly string[] {
  if (!isFolder(folder)) throw new CommandFailed(`DIR: found ${formatForDisplay(folder)}; allowed: a folder`)
  const maildir = ['cur', 'new'].map((name) => join(folder, name)).filter(isFolder)
  const files = (maildir.length > 0 ? maildir : [folder]).flatMap(listFiles)
  if (files.length === 0) throw new CommandFailed(`no files in ${folder}`)
  return files
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

function listFiles(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => !name.startsWith('.'))
    .sort()
    .map((name) => join(folder, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true)
}

async function learnAll(files: readonly string[], lessons: LearnDeps): Promise<ReadonlyMap<string, Outcome>> {
  const outcomes = new Map<string, Outcome>()
  const left = files.values()
  const worker = async (): Promise<void> => {
    for (const file of left) outcomes.set(file, await learnFile(file, lessons))
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
  return outcomes
}

async function learnFile(
  file: string,
  { database, mime, workspaceId, verdict, now, maxSize }: LearnDeps,
): Promise<Outcome> {
  const raw = readMessage(file, maxSize)
  if (raw === null) return 'unreadable'
  const unknown = { receivedAt: null, origin: null, authentication: null }
  const result = await mime.digest(workspaceId, () => raw, messageDigester, unknown)
  if (result.kind !== 'digested') return 'unreadable'
  const lesson = { workspaceId, verdict, ...result.digest, at: now() }
  return (await learnMessage(database, lesson)) ? 'learned' : 'known'
}

/** Every message has one of these fields, while a first line with a colon is common in other files too. */
const commonFields = new Set(['from', 'to', 'subject', 'date', 'received', 'message-id', 'return-path'])

/** Null if the file cannot be opened, is too large, or has no message header. */
function readMessage(file: string, maxSize: number): Buffer | null {
  try {
    if (statSync(file).size > maxSize) return null
    const raw = stripMboxLine(readFileSync(file))
    return scanHeader(raw).fields.some(({ name }) => commonFields.has(name)) ? raw : null
  } catch {
    return null
  }
}

/** Programs that split an mbox into files leave its `From ` lines. */
function stripMboxLine(bytes: Buffer): Buffer {
  return bytes.toString('latin1', 0, 5) === 'From ' ? bytes.subarray(bytes.indexOf('\n') + 1) : bytes
}

function buildReport(files: readonly string[], outcomes: ReadonlyMap<string, Outcome>): Answer {
  const filesWith = (outcome: Outcome): readonly string[] => files.filter((file) => outcomes.get(file) === outcome)
  const [learned, known, unreadable] = [filesWith('learned'), filesWith('known'), filesWith('unreadable')]
  const named = unreadable.slice(0, MAX_LISTED_FILES)
  const more = unreadable.length - named.length
  return {
    json: { learned: learned.length, known: known.length, unreadable: unreadable.length, unreadable_files: named },
    lines: [
      `${learned.length} learned`,
      ...(known.length > 0 ? [`${known.length} known already`] : []),
      ...(unreadable.length > 0 ? [`${unreadable.length} unreadable:`] : []),
      ...named.map((file) => `  ${file}`),
      ...(more > 0 ? [`  and ${more} more`] : []),
    ],
    failed: unreadable.length > 0,
  }
}

/**
 * `spam learn DIR --as spam|ham`: teaches the classifier of a workspace with messages that lie in
 * files, one in each. Of a Maildir those in `cur` and `new` are taken, else those of the folder itself;
 * hidden files and folders are left alone.
 *
 * A running daemon goes on, and judges by what is learned from the next message on. What was
 * learned before is known by its bytes; what the last verdict called otherwise is learned anew.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { shown } from '../../mail/address.js'
import { scanHeader } from '../../mail/header-fields.js'
import { MimeReader } from '../../messages/mime/mime-parts.js'
import { learnMessage, messageFingerprint } from '../../spam/bayes/learn.js'
import type { BayesVerdict } from '../../spam/bayes/records.js'
import { spamMessage } from '../../spam/spam-input.js'
import type { Database } from '../../storage/database.js'
import { type Answer, atMost, type Call, type Command, CommandFailed, required, UsageError, word } from '../command.js'
import { chosenWorkspace } from '../workspace-choice.js'

/** So many at a time share a commit; there is one process that takes them apart. */
const AT_ONCE = 16
const MAX_NAMED = 20

export const spamCommands: readonly Command[] = [
  {
    name: 'spam learn',
    usage: 'DIR --as spam|ham [--workspace ID]',
    summary: 'teach the spam classifier with the messages of a folder or a Maildir, one in a file',
    options: { as: 'string', workspace: 'string' },
    run: learn,
  },
]

type Outcome = 'learned' | 'known' | 'unreadable'

interface Lessons {
  readonly database: Database
  readonly mime: MimeReader
  readonly workspaceId: string
  readonly verdict: BayesVerdict
  readonly now: () => number
  /** Bytes of a message. */
  readonly most: number
}

async function learn({ words, options, config, clock, database: open }: Call): Promise<Answer> {
  atMost(words, 1)
  const folder = word(words, 0, 'DIR')
  const verdict = verdictOf(required(options, 'as'))
  const files = messageFiles(folder)
  const database = await open()
  const workspaceId = chosenWorkspace(database.read, options)
  const mime = new MimeReader()
  try {
    const most = config.inbound.max_size
    const outcomes = await learnAll(files, { database, mime, workspaceId, verdict, now: clock, most })
    return report(files, outcomes)
  } finally {
    await mime.close()
  }
}

function verdictOf(said: string): BayesVerdict {
  if (said === 'spam' || said === 'ham') return said
  throw new UsageError(`--as: found "${said}", allowed: spam, ham`)
}

/** In the order of their names, so that learning twice does the same. */
function messageFiles(folder: string): readonly string[] {
  if (!isFolder(folder)) throw new CommandFailed(`DIR: found ${shown(folder)}; allowed: a folder`)
  const maildir = ['cur', 'new'].map((name) => join(folder, name)).filter(isFolder)
  const files = (maildir.length > 0 ? maildir : [folder]).flatMap(filesOf)
  if (files.length === 0) throw new CommandFailed(`no files in ${folder}`)
  return files
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

function filesOf(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => !name.startsWith('.'))
    .sort()
    .map((name) => join(folder, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true)
}

async function learnAll(files: readonly string[], lessons: Lessons): Promise<ReadonlyMap<string, Outcome>> {
  const outcomes = new Map<string, Outcome>()
  const left = files.values()
  const worker = async (): Promise<void> => {
    for (const file of left) outcomes.set(file, await learnFile(file, lessons))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return outcomes
}

async function learnFile(file: string, { database, mime, workspaceId, verdict, now, most }: Lessons): Promise<Outcome> {
  const raw = contentOf(file, most)
  if (raw === null) return 'unreadable'
  const result = await mime.read(workspaceId, () => raw)
  if (result.kind !== 'parts') return 'unreadable'
  const message = spamMessage(raw, result.parts, { receivedAt: null, origin: null, authentication: null })
  const lesson = { workspaceId, fingerprint: messageFingerprint(raw), verdict, message, at: now() }
  return (await learnMessage(database, lesson)) ? 'learned' : 'known'
}

/** One of these stands in every message; a colon in the first line many files have. */
const usual = new Set(['from', 'to', 'subject', 'date', 'received', 'message-id', 'return-path'])

/** Null: it cannot be opened, is too large, or has no header of a message. */
function contentOf(file: string, most: number): Buffer | null {
  try {
    if (statSync(file).size > most) return null
    const raw = withoutEnvelope(readFileSync(file))
    return scanHeader(raw).fields.some(({ name }) => usual.has(name)) ? raw : null
  } catch {
    return null
  }
}

/** Programs that write the messages of an mbox into files of their own leave its `From ` line. */
function withoutEnvelope(bytes: Buffer): Buffer {
  return bytes.toString('latin1', 0, 5) === 'From ' ? bytes.subarray(bytes.indexOf('\n') + 1) : bytes
}

function report(files: readonly string[], outcomes: ReadonlyMap<string, Outcome>): Answer {
  const of = (wanted: Outcome): readonly string[] => files.filter((file) => outcomes.get(file) === wanted)
  const [learned, known, unreadable] = [of('learned'), of('known'), of('unreadable')]
  const named = unreadable.slice(0, MAX_NAMED)
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

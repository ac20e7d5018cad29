/**
 * A request that uploads one file: `multipart/form-data` with the part `file` (RFC 7578), as a stream.
 *
 * Nothing is stored here: the receiver of the file reads its bytes as they arrive, and holds the
 * client back while it works on them. The bytes end without an error only when the complete form is
 * valid, so the receiver must make its result final after their end, never before.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import busboy, { type Busboy, type FileInfo } from 'busboy'
import { formatForDisplay } from '../../../../base/mail/address.js'
import { Refusal, type RefusalKind } from '../../../../base/mail/refusal.js'
import type { TransferPace } from '../../../../base/platform/connections/transfer-pace.js'
import { checkLength, clientGoneError, sendContinue, watchPace } from './read-body.js'

export interface FileLimit {
  readonly bytes: number
  /** The refusal of a larger file. */
  readonly tooLarge: RefusalKind
}

/** The file that a route takes. */
export interface FileForm {
  readonly limit: FileLimit
  /** A description of the allowed content, for the OpenAPI document. */
  readonly description: string
  /** An example of its content, for the OpenAPI document. */
  readonly example?: string
}

export interface UploadedFile {
  /** The client's name for it, without folders, or null if there is none. */
  readonly filename: string | null
  /** The media type, such as `text/csv`. */
  readonly contentType: string
  /** Read it once. It throws the fault of the request. */
  readonly bytes: AsyncIterable<Buffer>
}

interface UploadOptions {
  readonly limit: FileLimit
  readonly pace: TransferPace
  /** Called when everything is read, before the bytes end. Rejects if the client is no longer authorized. */
  readonly reauthorize: () => Promise<unknown>
}

/** Bytes of the form around the file: boundaries and header fields. */
const MAX_FORM_OVERHEAD = 16_384

interface Upload {
  readonly file: UploadedFile
  /** Call it when the file is read, or no longer needed. */
  readonly end: () => void
}

/**
 * Resolves when the file begins. Rejects with a Refusal (`unsupported-media-type`, `missing-field`, `invalid-parameter`,
 * that of the limit), with BodyTooSlow or with ClientGone, and so do the bytes of the file.
 */
export async function openUpload(
  request: IncomingMessage,
  response: ServerResponse,
  upload: UploadOptions,
): Promise<Upload> {
  const { limit, pace } = upload
  const form = createFormParser(request)
  checkLength(request, limit.bytes + MAX_FORM_OVERHEAD, limit.tooLarge)
  // It may have been closed while the client was authorized.
  if (request.destroyed) throw clientGoneError()
  sendContinue(request, response)
  const reading = new FormReader(form)
  const count = (chunk: Buffer): void => {
    reading.bytes += chunk.length
  }
  const endWatch = watchPace(reading, pace, (error) => reading.fail(error))
  const onClose = (): void => {
    if (!request.complete) reading.fail(clientGoneError())
  }
  const end = (): void => {
    endWatch()
    request.off('data', count).off('error', onClose).off('close', onClose).unpipe(form)
    form.destroy()
    request.resume() // `send-reply.ts` handles the rest of the body
  }
  request.on('data', count).once('error', onClose).once('close', onClose)
  request.pipe(form)
  try {
    const { stream, info } = await reading.waitForFile()
    const contentType = info.mimeType.toLowerCase()
    return {
      file: { filename: info.filename ?? null, contentType, bytes: readEntireFile(stream, reading, upload) },
      end,
    }
  } catch (error) {
    end()
    throw error
  }
}

const CONTENT_TYPE_RULE = 'Content-Type: must be multipart/form-data with a boundary'

/** Throws a Refusal `unsupported-media-type`. */
function createFormParser({ headers }: IncomingMessage): Busboy {
  const type = headers['content-type'] ?? ''
  const encoding = headers['content-encoding'] ?? 'identity'
  if (!/^multipart\/form-data\s*;/i.test(type) || encoding.toLowerCase() !== 'identity') {
    throw new Refusal('unsupported-media-type', CONTENT_TYPE_RULE, { content_type: formatForDisplay(type) })
  }
  try {
    return busboy({
      headers,
      defParamCharset: 'utf8',
      limits: { parts: 10, fieldNameSize: 100, fieldSize: 1_024, headerPairs: 20 },
    })
  } catch {
    throw new Refusal('unsupported-media-type', CONTENT_TYPE_RULE, { content_type: formatForDisplay(type) })
  }
}

interface FilePart {
  readonly stream: Readable
  readonly info: FileInfo
}

/** A form that is being read: its file, its end, and its first fault. */
class FormReader {
  /** Received so far, with those of the form itself. */
  bytes = 0
  /** Null if there is none yet. */
  fault: Error | null = null
  private stream: Readable | null = null
  private readonly part: Promise<FilePart>
  private readonly formEnd: Promise<void>
  private readonly formFailure: Promise<never>
  private reject: (error: Error) => void = () => undefined

  constructor(form: Busboy) {
    this.formFailure = new Promise((_resolve, reject) => {
      this.reject = reject
    })
    // It may reject while nothing awaits it.
    this.formFailure.catch(() => undefined)
    this.part = new Promise((resolve) => {
      form.on('file', (name, stream, info) => {
        // A premature end is reported by the form.
        stream.on('error', () => undefined)
        if (name !== 'file' || this.stream !== null) return this.fail(unknownPartRefusal(name))
        this.stream = stream
        resolve({ stream, info })
      })
    })
    this.formEnd = new Promise((resolve) => {
      form.once('close', resolve)
    })
    form.on('field', (name) => this.fail(name === 'file' ? notAFileRefusal() : unknownPartRefusal(name)))
    form.on('partsLimit', () => this.fail(malformedFormRefusal()))
    form.on('error', () => this.fail(malformedFormRefusal()))
  }

  fail(error: Error): void {
    this.fault ??= error
    this.reject(error)
    this.stream?.destroy(error)
  }

  /** Rejects if the form has no file. */
  waitForFile(): Promise<FilePart> {
    const none = this.formEnd.then(() => Promise.reject(missingFileRefusal()))
    none.catch(() => undefined)
    return Promise.race([this.formFailure, this.part, none])
  }

  /** Resolves when the complete form was read without a fault. */
  waitForEnd(): Promise<void> {
    return Promise.race([this.formFailure, this.formEnd])
  }
}

async function* readEntireFile(
  stream: Readable,
  reading: FormReader,
  { limit, reauthorize }: UploadOptions,
): AsyncGenerator<Buffer> {
  const chunks: AsyncIterable<Buffer> = stream
  let size = 0
  try {
    for await (const chunk of chunks) {
      size += chunk.length
      if (size > limit.bytes) throw fileTooLargeRefusal(limit)
      yield chunk
    }
  } catch (error) {
    // The stream's own error for a truncated form means nothing to a client.
    throw error instanceof Refusal ? error : (reading.fault ?? malformedFormRefusal())
  }
  await reading.waitForEnd()
  await reauthorize()
}

function missingFileRefusal(): Refusal {
  const errors = [{ field: 'file', message: 'is required', value: null }]
  return new Refusal('missing-field', 'file: is required', { errors })
}

function fileTooLargeRefusal({ bytes, tooLarge }: FileLimit): Refusal {
  return new Refusal(tooLarge, `file: is larger than ${bytes} bytes`, { field: 'file', limit: bytes })
}

function unknownPartRefusal(name: string | undefined): Refusal {
  const field = formatForDisplay(name ?? '')
  return new Refusal('invalid-parameter', `${field}: is not a known part: the form must have one part "file"`, {
    field,
  })
}

function notAFileRefusal(): Refusal {
  return new Refusal('invalid-parameter', 'file: must be a file, with a filename', { field: 'file' })
}

function malformedFormRefusal(): Refusal {
  return new Refusal('invalid-parameter', 'the form is not valid multipart/form-data', { field: 'file' })
}

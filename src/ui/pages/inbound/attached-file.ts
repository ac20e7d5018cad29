/** Reads a file of the user as an attachment of a request. */

interface AttachedFile {
  readonly filename: string
  /** Base64. */
  readonly content: string
  /** It is absent if the browser does not know the type. */
  readonly content_type?: string
}

export function readAttachedFile(file: File): Promise<AttachedFile> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    const type = file.type === '' ? {} : { content_type: file.type }
    reader.onload = () => resolve({ filename: file.name, content: contentOf(reader.result), ...type })
    reader.onerror = () => reject(new Error(`${file.name} cannot be read. Choose it again.`))
    reader.readAsDataURL(file)
  })
}

/** The base64 of a `data:` URL. An empty file has none. */
function contentOf(url: FileReader['result']): string {
  return typeof url === 'string' ? (url.split(',', 2)[1] ?? '') : ''
}

/** A form with one file in it, as any client builds it. */
const boundary = 'a-line-that-is-in-no-file'

export const multipartType = { 'content-type': `multipart/form-data; boundary=${boundary}` }

export const emptyForm = Buffer.from(`--${boundary}--\r\n`)

export function multipart(
  content: string | Buffer,
  { part = 'file', type = 'text/plain', filename = 'f' } = {},
): Buffer {
  const head = [
    `--${boundary}`,
    `Content-Disposition: form-data; name="${part}"; filename="${filename}"`,
    `Content-Type: ${type}`,
    '',
    '',
  ].join('\r\n')
  return Buffer.concat([Buffer.from(head), Buffer.from(content), Buffer.from(`\r\n--${boundary}--\r\n`)])
}

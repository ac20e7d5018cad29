/** Forms with one file, as `multipart/form-data`. */
import type { RestRequest } from './rest-client.js'

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

/** A request of the API that uploads a CSV file. */
export function fileForm(
  content: string | Buffer,
  filename = 'list.csv',
): Required<Pick<RestRequest, 'body' | 'headers'>> {
  return { body: multipart(content, { type: 'text/csv', filename }), headers: multipartType }
}

/** A request that brings one file, as `multipart/form-data`. */
import type { RestRequest } from './rest-client.js'

const BOUNDARY = 'boundary-of-a-test'

export function fileForm(
  content: string | Buffer,
  filename = 'list.csv',
): Required<Pick<RestRequest, 'body' | 'headers'>> {
  const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="${filename}"\r\nContent-Type: text/csv\r\n\r\n`
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  return {
    body: Buffer.concat([Buffer.from(head), bytes, Buffer.from(`\r\n--${BOUNDARY}--\r\n`)]),
    headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
  }
}

/** Reads the beginning of a long answer without loading the rest. */

interface Beginning {
  readonly text: string
  /** True if the answer is longer. */
  readonly isShortened: boolean
}

/** Reads at most `maxBytes`. Bytes that are not UTF-8 become replacement characters. */
export async function readBeginning(
  stream: ReadableStream<Uint8Array> | null | undefined,
  maxBytes: number,
): Promise<Beginning> {
  const reader = stream?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  let left = maxBytes
  while (reader !== undefined && left >= 0) {
    const { done, value } = await reader.read()
    if (done) return { text: text + decoder.decode(), isShortened: false }
    text += decoder.decode(value.subarray(0, left), { stream: true })
    left -= value.length
  }
  await reader?.cancel()
  return { text, isShortened: reader !== undefined }
}

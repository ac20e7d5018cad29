/** Saves a text that the page has made as a file. */

/** Milliseconds. Browsers read the file after the click. */
const KEEPS_FILE = 10_000

export function saveText(text: string, name: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), KEEPS_FILE)
}

/** The HTML of a message, from an address under /ui/api/frames/: without scripts, remote loads or this page's origin. */
import type { VNode } from 'preact'

interface MessageFrameProps {
  readonly src: string
  /** What the frame shows, for screen readers. */
  readonly title: string
  /** Characters of the message: a short one gets a low frame. The height of its document cannot be read from outside. */
  readonly length?: number
}

/** The person can change the height at the lower corner. */
export function MessageFrame({ src, title, length = MANY }: MessageFrameProps): VNode {
  const height = length < FEW ? 'low' : length < MANY ? 'middle' : 'high'
  return (
    <iframe
      class={`message-frame message-frame-${height}`}
      src={src}
      title={title}
      sandbox=""
      referrerpolicy="no-referrer"
      loading="lazy"
    />
  )
}

/** Characters. */
const FEW = 500
const MANY = 4_000

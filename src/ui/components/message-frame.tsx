/**
 * The HTML of a message, from an address under /ui/api/frames/. It has no scripts, no remote loads and not this
 * page's origin.
 */
import type { VNode } from 'preact'

interface MessageFrameProps {
  readonly src: string
  /** What the frame shows, for screen readers. */
  readonly title: string
  /** Characters of the message. A short one gets a low frame, because a page cannot read the height of its document. */
  readonly length: number
}

/** The user can change the height at the lower corner. */
export function MessageFrame({ src, title, length }: MessageFrameProps): VNode {
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

/** Characters of a short message. */
const FEW = 500
const MANY = 4_000

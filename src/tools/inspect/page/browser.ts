/** Keeps the size that a person drags an element to, under a name in the browser's storage. */
export function keepSize(name: string): (element: HTMLElement | null) => void {
  const key = `responses-extproc inspector ${name}`;
  let observer: ResizeObserver | null = null;
  return (element) => {
    observer?.disconnect();
    if (element === null) return;
    try {
      const [width = '', height = ''] = localStorage.getItem(key)?.split(' ') ?? [];
      Object.assign(element.style, { width, height });
      observer = new ResizeObserver(() => {
        localStorage.setItem(key, `${element.style.width} ${element.style.height}`);
      });
      observer.observe(element);
    } catch {
      // Without storage the size lasts as long as the element.
    }
  };
}

export function downloadJson(name: string, json: string): void {
  const url = URL.createObjectURL(new Blob([json], { type: 'application/json' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

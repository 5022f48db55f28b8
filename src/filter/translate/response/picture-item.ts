import type { ImageGenerationCallItem } from '../../wire/schema/response-resource.ts';
import type { Picture } from '../chat/pictures.ts';
import type { ResponseContext } from '../context.ts';
import type { Output } from './output.ts';

/**
 * Writes a picture that the model made as the item that the API has for one: begun without it and done with it, since upstreams give
 * it in one piece.
 */
export function writePicture(
  { data, format }: Picture,
  output: Output,
  { newId }: Pick<ResponseContext, 'newId'>,
): void {
  const begun: ImageGenerationCallItem = {
    id: newId('ig'),
    type: 'image_generation_call',
    status: 'in_progress',
    result: null,
    output_format: format,
  };
  const index = output.add(begun);
  output.register(index, {
    isCall: false,
    isWhole: () => true,
    isCut: () => false,
    close: () => ({ ...begun, status: 'completed', result: data }),
  });
  output.close(index);
}
